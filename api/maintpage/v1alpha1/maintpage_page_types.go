// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
	// together with html.
	// +optional
	ConfigMapRef *PageConfigMapReference `json:"configMapRef,omitempty"`

	// retryAfterSeconds is after how many seconds clients are told to try again
	// (the header Retry-After), from 1 to 86400. When not given it is the time to
	// the end of the scheduled window, or 300 where there is no schedule.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`

	// replicas is the number of pods that serve the maintenance page, from 1 to
	// 10. It defaults to 1, the pod `<name>-maintpage-pod`; more are run by a
	// Deployment, spread over cluster nodes.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas,omitempty"`
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
