// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"strings"

	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// defaultDrainSeconds is the default in the schema; a user who writes it down cannot
// be told from one who does not.
const defaultDrainSeconds = 30

// unsupported lists what the API can ask for and this version does not do. Asking
// for it is told in the condition Degraded; it is never silently ignored.
//
// Without some of it objects would be written that the user has excluded. Those
// block the resource.
var unsupported = []struct {
	field  string
	blocks bool
	asked  func(*v1alpha1.MaintPageSpec) bool
}{
	{"adopt", true, func(s *v1alpha1.MaintPageSpec) bool { return s.Adopt }},
	{"maintpageconfig without maintpageimage (the built-in page)", false, func(s *v1alpha1.MaintPageSpec) bool { return s.MaintPageConfig.MaintPageImage == "" }},
	{"page.replicas above 1", false, func(s *v1alpha1.MaintPageSpec) bool { return s.Page.Replicas > 1 }},
	{"schedule", false, func(s *v1alpha1.MaintPageSpec) bool { return s.Schedule != nil }},
	{"drainSeconds", false, func(s *v1alpha1.MaintPageSpec) bool {
		return ptr.Deref(s.DrainSeconds, defaultDrainSeconds) != defaultDrainSeconds
	}},
	{"onPublish: ScaleToZero", false, func(s *v1alpha1.MaintPageSpec) bool { return s.OnPublish == v1alpha1.OnPublishScaleToZero }},
	{"publishOnOutage", false, func(s *v1alpha1.MaintPageSpec) bool { return s.PublishOnOutage != nil }},
}

// blocked reports whether the resource asks for something that must not be done otherwise.
func blocked(m *v1alpha1.MaintPage) bool {
	for _, u := range unsupported {
		if u.blocks && u.asked(&m.Spec) {
			return true
		}
	}
	return false
}

// unsupportedMessage names what the resource asks for in vain. It is empty if there
// is nothing.
func unsupportedMessage(m *v1alpha1.MaintPage) string {
	var fields []string
	for _, u := range unsupported {
		if u.asked(&m.Spec) {
			fields = append(fields, "spec."+u.field)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	message := "This version of the operator does not support " + strings.Join(fields, ", ")
	if blocked(m) {
		message += "; nothing is created or changed until it is removed"
	}
	return message
}
