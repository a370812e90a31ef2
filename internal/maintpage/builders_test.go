// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/golden"
)

// sample is the seed's resource as the API server returns it: with the schema's defaults.
func sample(change ...func(*v1alpha1.MaintPageSpec)) *v1alpha1.MaintPage {
	m := &v1alpha1.MaintPage{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", UID: "example-uid", Generation: 1},
		Spec: v1alpha1.MaintPageSpec{
			MaintPageConfig: v1alpha1.MaintPageConfig{MaintPageImage: "quay.io/daein/maintpage:latest"},
			AppConfig:       v1alpha1.AppConfig{AppName: "httpd", AppImage: "quay.io/daein/prodpage:latest"},
			Page:            v1alpha1.Page{Replicas: 1},
			DrainSeconds:    ptr.To[int32](30),
			OnPublish:       v1alpha1.OnPublishKeep,
		},
	}
	for _, c := range change {
		c(&m.Spec)
	}
	return m
}

func published(s *v1alpha1.MaintPageSpec) { s.MaintPageConfig.MaintPageToggle = true }

func TestBuilders(t *testing.T) {
	for name, m := range map[string]*v1alpha1.MaintPage{
		"seed": sample(),
		"everything": sample(func(s *v1alpha1.MaintPageSpec) {
			s.AppConfig.Port = 9090
			s.AppConfig.Replicas = ptr.To[int32](3)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			golden.YAML(t, "pod-"+name, pod(m))
			golden.YAML(t, "deployment-"+name, deployment(m))
			golden.YAML(t, "service-"+name, service(m, appSide))
			golden.YAML(t, "service-published-"+name, service(m, pageSide))
		})
	}
}

func TestUnsupported(t *testing.T) {
	if got := notYet.Message(&sample().Spec); got != "" {
		t.Error(got)
	}
	m := sample(func(s *v1alpha1.MaintPageSpec) {
		s.MaintPageConfig.MaintPageImage = ""
		s.OnPublish = v1alpha1.OnPublishScaleToZero
	})
	want := "This version of the operator does not support spec.maintpageconfig without maintpageimage (the built-in page), spec.onPublish: ScaleToZero"
	if got := notYet.Message(&m.Spec); notYet.Block(&m.Spec) || got != want {
		t.Error(got)
	}
	if p := decide(m, &observed{}); p.pod != nil || p.deployment == nil {
		t.Error("the application must run without its page")
	}
	m.Spec.Adopt = true
	if !notYet.Block(&m.Spec) || decide(m, &observed{}) != (plan{}) {
		t.Error("objects to be adopted must not be written")
	}
}
