// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of a MaintPage.
const (
	// ConditionMaintPageReady is true when the maintenance page has a ready pod,
	// so that it can be published.
	ConditionMaintPageReady = "MaintPageReady"
	// ConditionAppAvailable is true when the application has a ready pod.
	ConditionAppAvailable = "AppAvailable"
	// ConditionTrafficSwitched is true when the Service leads to the side that is
	// wanted, and to nothing else.
	ConditionTrafficSwitched = "TrafficSwitched"
	// ConditionDegraded is true when something keeps the operator from the wanted
	// state; the reason names the cause.
	ConditionDegraded = "Degraded"
)

// MaintPublishStatus says whether visitors see the maintenance page.
// +kubebuilder:validation:Enum=Published;Not Published
type MaintPublishStatus string

const (
	// StatusPublished means that visitors see the maintenance page.
	StatusPublished MaintPublishStatus = "Published"
	// StatusNotPublished means that visitors see the application.
	StatusNotPublished MaintPublishStatus = "Not Published"
)

// SwitchCause is what asked for a switch of traffic.
// +kubebuilder:validation:Enum=Toggle;Schedule;Outage
type SwitchCause string

const (
	// CauseToggle is maintpageconfig.maintpagetoggle.
	CauseToggle SwitchCause = "Toggle"
	// CauseSchedule is a window of schedule.
	CauseSchedule SwitchCause = "Schedule"
	// CauseOutage is publishOnOutage.
	CauseOutage SwitchCause = "Outage"
)

// HistoryLimit is how many switches status.history keeps. It must equal the field's MaxItems, or the status is refused.
const HistoryLimit = 10

// MaintPageStatus is what the operator last saw.
type MaintPageStatus struct {
	// maintpublishstatus says whether visitors see the maintenance page:
	// `Published` or `Not Published`. It changes when traffic has been seen to
	// have switched, not when the switch was asked for.
	// +optional
	MaintPublishStatus MaintPublishStatus `json:"maintpublishstatus,omitempty"`

	// observedGeneration is the generation of the spec that this status describes.
	// When it is smaller than metadata.generation, the operator has not seen the
	// last change yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions tell the state and its cause: MaintPageReady, AppAvailable,
	// TrafficSwitched and Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// cause is what published the page: Toggle, Schedule or Outage. It is absent
	// while the page is not published.
	// +optional
	Cause SwitchCause `json:"cause,omitempty"`

	// activeWindow is the window of schedule that is open now. When several are,
	// it is the one that ends last.
	// +optional
	ActiveWindow *WindowOccurrence `json:"activeWindow,omitempty"`

	// nextWindow is the window of schedule that opens next.
	// +optional
	NextWindow *WindowOccurrence `json:"nextWindow,omitempty"`

	// history are the last switches of traffic, the newest first, at most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	History []Switch `json:"history,omitempty"`
}

// WindowOccurrence is one time that a window is open.
type WindowOccurrence struct {
	// name is the window's name in schedule.
	// +required
	Name string `json:"name"`

	// start is when it opens.
	// +required
	Start metav1.Time `json:"start,omitzero"`

	// end is when it closes.
	// +required
	End metav1.Time `json:"end,omitzero"`
}

// Switch is one switch of traffic between the application and its maintenance page.
type Switch struct {
	// to is what the switch led to: `Published` or `Not Published`.
	// +required
	To MaintPublishStatus `json:"to"`

	// cause is what asked for it: Toggle, Schedule or Outage.
	// +required
	Cause SwitchCause `json:"cause"`

	// startTime is when the operator began it.
	// +required
	StartTime metav1.Time `json:"startTime,omitzero"`

	// trafficMovedTime is when every address behind the Service was seen to belong
	// to the target. It is absent until then.
	// +optional
	TrafficMovedTime metav1.Time `json:"trafficMovedTime,omitzero"`

	// completionTime is when it was done: the target ready, traffic seen to have
	// moved, the other side drained. It is absent while the switch goes on, and
	// when another one came before it was done.
	// +optional
	CompletionTime metav1.Time `json:"completionTime,omitzero"`

	// message says more, such as the name of the window, or who changed the toggle
	// as far as that is known.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
