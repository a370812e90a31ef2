// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Schedule publishes the maintenance page by the clock.
type Schedule struct {
	// suspend stops the schedule: no window opens, and one that is open ends at
	// once. It defaults to false.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// windows are the times during which the page is published, at most 32. They
	// may overlap.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Windows []Window `json:"windows,omitempty"`
}

// Window is a time, once or again and again, during which the page is published.
// +kubebuilder:validation:XValidation:rule="has(self.once) != has(self.cron)",message="a window needs exactly one of once and cron: set once for a single window, cron for a recurring one"
type Window struct {
	// name tells the windows apart, in status and events.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a window's name must consist of lower case letters, digits and dashes"
	Name string `json:"name"`

	// once is a single window. Exactly one of once and cron must be set.
	// +optional
	Once *OnceWindow `json:"once,omitempty"`

	// cron is a recurring window. Exactly one of once and cron must be set.
	// +optional
	Cron *CronWindow `json:"cron,omitempty"`
}

// OnceWindow is a single window.
// +kubebuilder:validation:XValidation:rule="self.end > self.start",message="end must be after start: change one of them"
type OnceWindow struct {
	// start is when the page is published, with a time zone, such as
	// 2030-01-31T22:00:00+01:00.
	// +required
	Start metav1.Time `json:"start,omitzero"`

	// end is when traffic returns to the application; it must be after start.
	// Visitors are told this time.
	// +required
	End metav1.Time `json:"end,omitzero"`
}

// CronWindow is a recurring window.
type CronWindow struct {
	// expression says when the window opens, in the five fields of cron: minute,
	// hour, day of the month, month and day of the week, such as `0 2 * * SUN`; or
	// one of @hourly, @daily, @weekly, @monthly and @yearly.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4})$')",message="expression must have the five fields of cron (minute, hour, day of the month, month, day of the week) or be one of @hourly, @daily, @weekly, @monthly and @yearly; the time zone has a field of its own, timeZone"
	Expression string `json:"expression"`

	// timeZone is the IANA name of the time zone that expression is read in, such
	// as Europe/Berlin. It defaults to UTC.
	// +optional
	// +kubebuilder:default=UTC
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'Local' && self.matches('^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$')",message="timeZone must be the IANA name of a time zone, such as UTC or Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`

	// duration is how long the window stays open, from 1m to 168h (a week), such
	// as 90m or 1h30m.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="duration must be from 1m to 168h"
	Duration metav1.Duration `json:"duration,omitzero"`
}
