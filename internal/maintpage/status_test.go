// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

func pulling(p *corev1.Pod) {
	notReady(p)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"}},
	}}
}

func TestStatus(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "httpd"}}
	badWindow := func(m *v1alpha1.MaintPage) {
		m.Spec.Schedule = &v1alpha1.Schedule{Windows: []v1alpha1.Window{cronWindow("w", "61 * * * *", "UTC", time.Hour)}}
	}
	missing, missingAgain, adopted := sample(showing), sample(showing), sample(adopting)
	settled := publishedFor(v1alpha1.CauseToggle)
	type changes = []func(*observed)
	tests := []struct {
		name   string
		m      *v1alpha1.MaintPage
		seen   changes
		failed error

		publish v1alpha1.MaintPublishStatus
		// of MaintPageReady, AppAvailable, TrafficSwitched and Degraded
		want string
		told string // part of the message of Degraded
	}{
		{
			"new", sample(), changes{noPage(sample()), func(seen *observed) { seen.deployment, seen.service = nil, nil }}, nil,
			"Not Published", "False/PodMissing False/PodMissing False/ServiceMissing False/AsExpected", "",
		},
		{
			"starting", sample(), changes{withPage(sample(), notReady), appDown, func(seen *observed) { seen.endpoints = nil }}, nil,
			"Not Published", "False/PodNotReady False/PodNotReady False/AppNotReady False/AsExpected", "",
		},
		{"not published", sample(), nil, nil, "Not Published", "True/PodReady True/PodReady True/NotPublished False/AsExpected", ""},
		{"published", sample(toggled, settled), changes{atPage(sample())}, nil, "Published", "True/PodReady True/PodReady True/Published False/AsExpected", ""},
		{
			"waiting for the page", sample(toggled), changes{withPage(sample(), notReady)}, nil,
			"Not Published", "False/PodNotReady True/PodReady False/PageNotReady False/AsExpected", "",
		},
		{
			"waiting for the application", sample(settled), changes{atPage(sample()), appDown}, nil,
			"Published", "True/PodReady False/PodNotReady False/AppNotReady False/AsExpected", "",
		},
		{
			"stopped", sample(toggled, scaling, settled), changes{atPage(sample()), stopped}, nil,
			"Published", "True/PodReady False/ScaledToZero True/Published False/AsExpected", "",
		},
		{
			"page image missing", sample(toggled), changes{withPage(sample(), pulling)}, nil,
			"Not Published", "False/ImagePullBackOff True/PodReady False/PageNotReady True/ImagePullBackOff", "no such image",
		},
		{
			"application image missing", sample(), changes{appDown, func(seen *observed) {
				seen.appPods = []corev1.Pod{readyPage(sample(), seen, pulling)}
			}}, nil,
			"Not Published", "True/PodReady False/ImagePullBackOff True/NotPublished False/AsExpected", "",
		},
		{
			"selector changed, during a truce", sample(), changes{selectorIs(map[string]string{"app": "x"}), func(seen *observed) {
				seen.truce = noon.Add(15 * time.Second)
				seen.service.ManagedFields = []metav1.ManagedFieldsEntry{{
					Manager: "argocd", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`),
				}}
			}}, nil,
			"Not Published", "True/PodReady True/PodReady False/SelectorChanged True/SelectorContested",
			"argocd keeps changing the selector of Service httpd; the next attempt to set it is at 2026-06-01T12:00:15Z: make it leave",
		},
		{
			"somebody else's Service", sample(toggled), changes{func(seen *observed) { seen.service.OwnerReferences = nil }},
			&apply.NotOwnedError{Object: service, Kind: "Service"},
			"Not Published", "True/PodReady True/PodReady False/ServiceMissing True/NotOwned",
			"Service ns/httpd already exists and was not created by this operator: set adopt to true",
		},
		{
			"the old pod is going", sample(), changes{withPage(sample(), goneAt(noon.Add(time.Second)))},
			&apply.TerminatingError{Object: &corev1.Pod{}, Kind: "Pod"},
			"Not Published", "False/PodNotReady True/PodReady True/NotPublished False/AsExpected", "",
		},
		{
			"claimed before", sample(toggled, settled), changes{func(seen *observed) { seen.rival = "first" }}, nil,
			"Not Published", "False/AppClaimed False/AppClaimed False/AppClaimed True/AppClaimed",
			"MaintPage first has claimed the application httpd before: delete one of the two",
		},
		{"bad schedule", sample(badWindow), nil, nil, "Not Published", "True/PodReady True/PodReady True/NotPublished True/InvalidSchedule", "schedule window w"},
		{
			"bad schedule and toggle", sample(badWindow, toggled), nil, nil,
			"Not Published", "True/PodReady True/PodReady False/PageNotReady True/InvalidSchedule", "schedule window w",
		},
		{
			"no content", missing, nil, nil,
			"Not Published", "False/ContentMissing True/PodReady True/NotPublished True/ContentMissing", "ConfigMap words",
		},
		{
			"content lost", missingAgain, changes{copiedAs(missingAgain, map[string]string{"index.html": "x"})}, nil,
			"Not Published", "True/PodReady True/PodReady True/NotPublished True/ContentMissing", "ConfigMap words",
		},
		{"adopted", adopted, nil, nil, "Not Published", "True/PodReady True/PodReady True/NotPublished False/AsExpected", ""},
		{
			"nothing to adopt", adopted, changes{noPage(adopted), func(seen *observed) { seen.service = nil }}, nil,
			"Not Published", "False/PodMissing True/PodReady False/ServiceMissing True/AppMissing", "Service httpd, which is to be adopted",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, test.seen...)
			d := demanded(test.m, seen)
			s := status(test.m, seen, d, test.m.Status.History, test.failed)
			if got := conditionsOf(t, &s, test.m.Generation); got != test.want {
				t.Errorf("conditions %s, want %s", got, test.want)
			}
			if s.MaintPublishStatus != test.publish || s.ObservedGeneration != test.m.Generation {
				t.Errorf("%+v", s)
			}
			if (s.Cause != "") != (s.MaintPublishStatus == v1alpha1.StatusPublished) {
				t.Errorf("cause %q", s.Cause)
			}
			if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDegraded); !strings.Contains(c.Message, test.told) {
				t.Errorf("%q, want %q", c.Message, test.told)
			}
			again := test.m.DeepCopy()
			again.Status = s
			if next := status(again, seen, d, s.History, test.failed); fmt.Sprint(next) != fmt.Sprint(s) {
				t.Errorf("the same observation gives another status:\n%+v\n%+v", s, next)
			}
		})
	}
}

func TestStatusTellsTheWindows(t *testing.T) {
	m := sample(open)
	seen := world(m)
	s := status(m, seen, demanded(m, seen), nil, nil)
	if tell(s.ActiveWindow) != "nightly 06-01T12:00 06-01T13:00" || tell(s.NextWindow) != "nightly 06-02T12:00 06-02T13:00" {
		t.Errorf("%+v", s)
	}
	seen.now = noon.Add(time.Hour)
	s = status(m, seen, demanded(m, seen), nil, nil)
	if s.ActiveWindow != nil || s.NextWindow == nil {
		t.Errorf("%+v", s)
	}
}

// An error that is not about owners has words of its own.
func TestOtherErrorsAreTold(t *testing.T) {
	m := sample()
	seen := world(m)
	s := status(m, seen, demanded(m, seen), nil, errors.New("disk full"))
	if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionDegraded); c.Status != metav1.ConditionTrue || c.Message != "disk full" {
		t.Errorf("%+v", c)
	}
}

// Progress may wait, news may not.
func TestCanWait(t *testing.T) {
	m := sample()
	before := status(m, world(m), demand{}, nil, nil)
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MaintPageStatus)
		want   bool
	}{
		{"message", func(s *v1alpha1.MaintPageStatus) { s.Conditions[0].Message = "x" }, true},
		{"reason", func(s *v1alpha1.MaintPageStatus) { s.Conditions[0].Reason = "x" }, false},
		{"published", func(s *v1alpha1.MaintPageStatus) { s.MaintPublishStatus = v1alpha1.StatusPublished }, false},
		{"history", func(s *v1alpha1.MaintPageStatus) { s.History = []v1alpha1.Switch{{}} }, false},
		{"window", func(s *v1alpha1.MaintPageStatus) { s.NextWindow = &v1alpha1.WindowOccurrence{} }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			after := *before.DeepCopy()
			test.change(&after)
			if got := canWait(&before, &after); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
