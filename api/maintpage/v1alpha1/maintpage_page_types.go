// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultRetryAfterSeconds is what the built-in page tells clients when neither page.retryAfterSeconds nor a schedule does.
const DefaultRetryAfterSeconds = 300

// Page is the content of the built-in page, and how many pods serve the maintenance page.
// +kubebuilder:validation:XValidation:rule="!(has(self.html) && has(self.configMapRef))",message="page.html and page.configMapRef cannot both be set: remove one of them"
type Page struct {
	// title is the heading of the built-in page. It defaults to a short text in
	// the visitor's language.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Title string `json:"title,omitempty"`

	// message tells visitors what happens, as plain text. It defaults to a short
	// text in the visitor's language.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4000
	Message string `json:"message,omitempty"`

	// contact tells visitors whom to ask: an address of a web page, a mail
	// address, or plain text. It defaults to none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	Contact string `json:"contact,omitempty"`

	// html is a whole HTML page that replaces the built-in one for browsers; other
	// clients still get JSON or text with title and message. It cannot be set
	// together with configMapRef. It is at most 128Ki characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=131072
	HTML string `json:"html,omitempty"`

	// configMapRef takes the HTML page from a ConfigMap instead. It cannot be set
	// together with html. Keys such as `index.ja.html` beside the page are shown to
	// visitors who read that language.
	// +optional
	ConfigMapRef *PageConfigMapReference `json:"configMapRef,omitempty"`

	// retryAfterSeconds is after how many seconds clients are told to try again
	// (the header Retry-After), from 1 to 86400. When not given it is the time to
	// the end of the scheduled window, or 300 where there is no schedule.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`

	// expectedEnd is when visitors are told to come back, with a time zone, such
	// as 2030-01-31T22:00:00+01:00. It is for a maintenance that is switched by
	// hand; an open window of schedule tells its own end.
	// +optional
	ExpectedEnd *metav1.Time `json:"expectedEnd,omitempty"`

	// translations are the words of the built-in page in more languages, or better
	// ones in a language that it has, at most 32. What a translation leaves out is
	// taken from the built-in words of the language, or English.
	// +optional
	// +listType=map
	// +listMapKey=language
	// +kubebuilder:validation:MaxItems=32
	Translations []Translation `json:"translations,omitempty"`

	// replicas is the number of pods that serve the maintenance page, from 1 to
	// 10. It defaults to 1, the pod `<name>-maintpage-pod`; more are run by a
	// Deployment, spread over cluster nodes.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas,omitempty"`
}

// Translation is the words of the built-in page in one language.
type Translation struct {
	// language is the tag of the language, such as nl or pt-BR.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=35
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$')",message="language must be the tag of a language, such as nl or pt-BR"
	Language string `json:"language"`

	// title is the heading of the page.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Title string `json:"title,omitempty"`

	// message tells visitors what happens, as plain text.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4000
	Message string `json:"message,omitempty"`

	// expectedEndLabel stands before the time at which visitors may come back.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	ExpectedEndLabel string `json:"expectedEndLabel,omitempty"`

	// contactLabel stands before the contact.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	ContactLabel string `json:"contactLabel,omitempty"`

	// watching tells that the page returns the visitor by itself.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Watching string `json:"watching,omitempty"`

	// returning tells that it does so now.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Returning string `json:"returning,omitempty"`

	// reload tells visitors without script to load the page again.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	Reload string `json:"reload,omitempty"`

	// notProcessed tells visitors who have sent a form that it was not received.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	NotProcessed string `json:"notProcessed,omitempty"`
}

// PageConfigMapReference names the key of a ConfigMap that holds an HTML page.
type PageConfigMapReference struct {
	// name is the name of a ConfigMap in the same namespace. A change of its
	// content is shown without a restart.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key is the key of the ConfigMap that holds the page. It defaults to
	// index.html.
	// +optional
	// +kubebuilder:default=index.html
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
