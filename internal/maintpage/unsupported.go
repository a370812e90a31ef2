// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/unsupported"
)

// defaultDrainSeconds is the default in the schema; a user who writes it down cannot
// be told from one who does not.
const defaultDrainSeconds = 30

// notYet is what this version does not do. Objects of others, which adopt is about, must
// not be made in their place.
var notYet = unsupported.Fields[v1alpha1.MaintPageSpec]{
	{Name: "adopt", Blocks: true, Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.Adopt }},
	{Name: "maintpageconfig without maintpageimage (the built-in page)", Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.MaintPageConfig.MaintPageImage == "" }},
	{Name: "page.replicas above 1", Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.Page.Replicas > 1 }},
	{Name: "schedule", Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.Schedule != nil }},
	{Name: "drainSeconds", Asked: func(s *v1alpha1.MaintPageSpec) bool {
		return ptr.Deref(s.DrainSeconds, defaultDrainSeconds) != defaultDrainSeconds
	}},
	{Name: "onPublish: ScaleToZero", Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.OnPublish == v1alpha1.OnPublishScaleToZero }},
	{Name: "publishOnOutage", Asked: func(s *v1alpha1.MaintPageSpec) bool { return s.PublishOnOutage != nil }},
}
