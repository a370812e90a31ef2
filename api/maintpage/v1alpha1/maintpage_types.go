// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OnPublish is what happens to the application while its maintenance page is published.
// +kubebuilder:validation:Enum=Keep;ScaleToZero
type OnPublish string

const (
	// OnPublishKeep keeps the application running.
	OnPublishKeep OnPublish = "Keep"
	// OnPublishScaleToZero stops the application once it is drained, and starts it
	// before traffic returns.
	OnPublishScaleToZero OnPublish = "ScaleToZero"
)

// DefaultAppPort is the port of the application and its Service when appconfig.port is not given. It is not a default
// of the schema, because an adopted Service has ports of its own and the field is refused there.
const DefaultAppPort = 8080

// MaintPageSpec is the application, its maintenance page, and when which of them is shown.
// ---
// These rules are here and not at the fields because each compares several fields.
//
// +kubebuilder:validation:XValidation:rule="self.adopt || has(self.appconfig.appimage)",message="appconfig.appimage is required: set it, or set adopt to true to use a Deployment and a Service that exist already",fieldPath=".appconfig"
// +kubebuilder:validation:XValidation:rule="!self.adopt || !has(self.appconfig.appimage)",message="an adopted Deployment keeps its own image: remove appconfig.appimage, or set adopt to false",fieldPath=".appconfig"
// +kubebuilder:validation:XValidation:rule="!self.adopt || !has(self.appconfig.replicas)",message="an adopted Deployment keeps its own number of pods: remove appconfig.replicas, or set adopt to false",fieldPath=".appconfig"
// +kubebuilder:validation:XValidation:rule="!self.adopt || !has(self.appconfig.port)",message="an adopted Service keeps its own ports: remove appconfig.port, or set adopt to false",fieldPath=".appconfig"
// +kubebuilder:validation:XValidation:rule="!has(self.maintpageconfig.maintpageimage) || !(has(self.page.title) || has(self.page.message) || has(self.page.contact) || has(self.page.html) || has(self.page.configMapRef) || has(self.page.retryAfterSeconds) || has(self.page.expectedEnd) || has(self.page.translations))",message="maintpageconfig.maintpageimage brings its own page, so only page.replicas may be set beside it: remove maintpageimage to use the built-in page, or remove the other fields of page",fieldPath=".page"
type MaintPageSpec struct {
	// maintpageconfig says whether the maintenance page is published, and which
	// image serves it.
	// +optional
	// +kubebuilder:default={}
	MaintPageConfig MaintPageConfig `json:"maintpageconfig,omitzero"`

	// appconfig is the application behind the maintenance page.
	// +required
	AppConfig AppConfig `json:"appconfig,omitzero"`

	// page is the content of the built-in page, and how many pods serve the
	// maintenance page. New content is shown without a restart.
	// +optional
	// +kubebuilder:default={}
	Page Page `json:"page,omitzero"`

	// schedule publishes the maintenance page by the clock. Without it only
	// maintpagetoggle and publishOnOutage do.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`

	// drainSeconds is how long, after traffic has been switched, the side that it
	// left is given to finish the requests it holds before the switch counts as
	// done. It defaults to 30, and is from 0 to 3600. Connections that clients
	// keep open stay with the side they were made to until one of the two closes
	// them.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`

	// onPublish is what happens to the application while the page is published. It
	// defaults to Keep.
	// Keep: it keeps running, and connections that clients keep open still reach
	// it.
	// ScaleToZero: once it is drained it is scaled to zero, so that nothing writes
	// to its database; it is scaled back and ready again before traffic returns.
	// An outage (publishOnOutage) never scales it to zero.
	// +optional
	// +kubebuilder:default=Keep
	OnPublish OnPublish `json:"onPublish,omitempty"`

	// adopt takes a Deployment and a Service named appname that exist already,
	// with any selector and ports, instead of creating them. They are never
	// recreated; the Service gets its original selector back when this resource is
	// deleted or adopt becomes false. It defaults to false: objects that the
	// operator did not create are not touched.
	// +optional
	// +kubebuilder:default=false
	Adopt bool `json:"adopt,omitempty"`

	// publishOnOutage publishes the maintenance page when the application has no
	// ready pod, and takes it back when it has again. Without it an outage is not
	// covered.
	// +optional
	PublishOnOutage *PublishOnOutage `json:"publishOnOutage,omitempty"`
}

// MaintPageConfig says whether the maintenance page is published, and which image serves it.
type MaintPageConfig struct {
	// maintpagetoggle publishes the maintenance page: true sends the traffic of
	// the application's Service to the page, whatever schedule says; false, the
	// default, sends it to the application unless schedule or publishOnOutage
	// publish.
	// +optional
	// +kubebuilder:default=false
	MaintPageToggle bool `json:"maintpagetoggle,omitempty"`

	// maintpageimage is an image that serves the maintenance page, on the same
	// port as the application. Without it the operator serves its built-in page,
	// see page. A change replaces the page's pods one after the other.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	MaintPageImage string `json:"maintpageimage,omitempty"`
}

// AppConfig is the application behind the maintenance page.
// +kubebuilder:validation:XValidation:rule="self.appname == oldSelf.appname",message="appname cannot be changed, because the application under the old name would be deleted: create another MaintPage"
type AppConfig struct {
	// appname is the name of the application's Deployment and Service, and the
	// value of their label `app`. It must differ from the name of this resource,
	// and cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="appname must start with a letter and contain only lower case letters, digits and dashes, because a Service has this name: choose another name"
	AppName string `json:"appname"`

	// appimage is the image of the application. The Deployment is kept at it; a
	// change rolls it out. It is required unless adopt is true, where it is not
	// allowed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	AppImage string `json:"appimage,omitempty"`

	// replicas is the number of the application's pods, from 1 to 1000. Without it
	// the Deployment starts with one and is then left alone, so that `kubectl
	// scale` or an autoscaler may own it. It is not allowed when adopt is true.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// port is the port of the Service, which is also the one that the application
	// listens on. It is 8080 when not given. It is not allowed when adopt is true,
	// because the adopted Service has ports.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// PublishOnOutage says when the maintenance page is published because the application is down, and when it is taken back.
type PublishOnOutage struct {
	// afterSeconds is how long the application must have had no ready pod before
	// the page is published. It defaults to 30, and is from 1 to 3600.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	AfterSeconds int32 `json:"afterSeconds,omitempty"`

	// returnAfterSeconds is how long the application must have been ready again
	// before traffic returns to it; longer times keep a crashing application from
	// going back and forth. It defaults to 60, and is from 1 to 3600.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	ReturnAfterSeconds int32 `json:"returnAfterSeconds,omitempty"`
}

// MaintPage puts an application behind a maintenance page: one Service leads to either of them.
// ---
// The name is limited because the page's pod is named after it, `<name>-maintpage-pod`, and a pod's name is also its
// host name, of at most 63 characters.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=maintpages,shortName=mp,categories=web-operators
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Published",type=string,JSONPath=`.status.maintpublishstatus`,description="Whether visitors see the maintenance page"
// +kubebuilder:printcolumn:name="Page Ready",type=string,JSONPath=`.status.conditions[?(@.type=="MaintPageReady")].status`,description="Whether the maintenance page can be published"
// +kubebuilder:printcolumn:name="App Available",type=string,JSONPath=`.status.conditions[?(@.type=="AppAvailable")].status`,description="Whether the application has a ready pod"
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.appconfig.appname`,description="The application"
// +kubebuilder:printcolumn:name="Cause",type=string,JSONPath=`.status.cause`,description="What published the page",priority=1
// +kubebuilder:printcolumn:name="Next Window",type=string,JSONPath=`.status.nextWindow.start`,description="When the schedule publishes the page next",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 49",message="metadata.name must be at most 49 characters, because the page's pod is named after it with a suffix: choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must start with a letter and contain only lower case letters, digits and dashes (no dots), because pods, labels and Services are named after it: choose another name"
// +kubebuilder:validation:XValidation:rule="self.spec.appconfig.appname != self.metadata.name",message="appname must differ from metadata.name, because both are values of the label app, and the Service could not tell the application from its page: rename one of them",fieldPath=".spec.appconfig.appname"
// +kubebuilder:validation:XValidation:rule="!self.spec.appconfig.appname.startsWith(self.metadata.name + '-maintpage')",message="appname must not begin with metadata.name followed by -maintpage, because the page's own objects have such names: rename one of them",fieldPath=".spec.appconfig.appname"
type MaintPage struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the application, its maintenance page, and when which of them is
	// shown.
	// +required
	Spec MaintPageSpec `json:"spec,omitzero"`

	// status is what the operator last saw. Only the operator writes it.
	// +optional
	Status MaintPageStatus `json:"status,omitzero"`
}

// MaintPageList is a list of MaintPage.
//
// +kubebuilder:object:root=true
type MaintPageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []MaintPage `json:"items"`
}
