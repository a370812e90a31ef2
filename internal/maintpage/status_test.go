// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// world is an observation of m with everything there.
func world(m *v1alpha1.MaintPage, pageReady, appReady bool, selector map[string]string) *observed {
	owner := []metav1.OwnerReference{{UID: m.UID, Controller: ptr.To(true)}}
	seen := &observed{
		pod:        &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(m), OwnerReferences: owner}},
		deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "httpd", OwnerReferences: owner}},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "httpd", OwnerReferences: owner},
			Spec:       corev1.ServiceSpec{Selector: selector},
		},
	}
	if pageReady {
		seen.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if appReady {
		seen.deployment.Status.ReadyReplicas, seen.deployment.Status.Replicas = 1, 1
	}
	return seen
}

func TestNextSide(t *testing.T) {
	const ready, notReady = true, false
	toApp, toPage := map[string]string{"app": "httpd"}, map[string]string{"app": "example"}
	tests := []struct {
		name      string
		toggle    bool
		page, app bool
		selector  map[string]string
		before    v1alpha1.MaintPublishStatus
		want      side
	}{
		{"settled at the app", false, ready, ready, toApp, v1alpha1.StatusNotPublished, appSide},
		{"settled at the page", true, ready, ready, toPage, v1alpha1.StatusPublished, pageSide},
		{"publish", true, ready, ready, toApp, v1alpha1.StatusNotPublished, pageSide},
		{"publish, page not ready", true, notReady, ready, toApp, v1alpha1.StatusNotPublished, appSide},
		{"publish, nothing ready", true, notReady, notReady, toApp, v1alpha1.StatusNotPublished, appSide},
		{"return", false, ready, ready, toPage, v1alpha1.StatusPublished, appSide},
		{"return, app not ready", false, ready, notReady, toPage, v1alpha1.StatusPublished, pageSide},
		{"page lost while published", true, notReady, ready, toPage, v1alpha1.StatusPublished, pageSide},
		{"app lost while not published", false, ready, notReady, toApp, v1alpha1.StatusNotPublished, appSide},
		{"selector changed by hand", false, ready, ready, map[string]string{"app": "x"}, v1alpha1.StatusNotPublished, appSide},
		{"key added by hand", true, ready, ready, map[string]string{"app": "example", "more": "x"}, v1alpha1.StatusPublished, pageSide},
		{"selector changed by hand, page lost", true, notReady, ready, map[string]string{"app": "x"}, v1alpha1.StatusPublished, pageSide},
		{"selector removed by hand, app lost", false, ready, notReady, nil, v1alpha1.StatusNotPublished, appSide},
		{"new", false, notReady, notReady, nil, "", appSide},
		{"new and published", true, notReady, notReady, nil, "", appSide},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := sample()
			m.Spec.MaintPageConfig.MaintPageToggle = test.toggle
			m.Status.MaintPublishStatus = test.before
			if got := nextSide(m, world(m, test.page, test.app, test.selector)); got != test.want {
				t.Errorf("page: %v, want %v", got, test.want)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	toApp, toPage := map[string]string{"app": "httpd"}, map[string]string{"app": "example"}
	tests := []struct {
		name   string
		m      *v1alpha1.MaintPage
		seen   func(m *v1alpha1.MaintPage) *observed
		failed error

		publish v1alpha1.MaintPublishStatus
		// status/reason of MaintPageReady, AppAvailable, TrafficSwitched and Degraded, in this order
		want string
	}{
		{
			name: "new", m: sample(), seen: func(m *v1alpha1.MaintPage) *observed { return world(m, false, false, toApp) },
			publish: v1alpha1.StatusNotPublished,
			want:    "False/PodNotReady False/PodNotReady True/NotPublished False/AsExpected",
		},
		{
			name: "not published", m: sample(), seen: func(m *v1alpha1.MaintPage) *observed { return world(m, true, true, toApp) },
			publish: v1alpha1.StatusNotPublished,
			want:    "True/PodReady True/PodReady True/NotPublished False/AsExpected",
		},
		{
			name: "published", m: sample(published), seen: func(m *v1alpha1.MaintPage) *observed { return world(m, true, true, toPage) },
			publish: v1alpha1.StatusPublished,
			want:    "True/PodReady True/PodReady True/Published False/AsExpected",
		},
		{
			name: "waiting for the page", m: sample(published), seen: func(m *v1alpha1.MaintPage) *observed { return world(m, false, true, toApp) },
			publish: v1alpha1.StatusNotPublished,
			want:    "False/PodNotReady True/PodReady False/PageNotReady False/AsExpected",
		},
		{
			name: "waiting for the app", m: sample(), seen: func(m *v1alpha1.MaintPage) *observed { return world(m, true, false, toPage) },
			publish: v1alpha1.StatusPublished,
			want:    "True/PodReady False/PodNotReady False/AppNotReady False/AsExpected",
		},
		{
			name: "page image missing", m: sample(published), seen: func(m *v1alpha1.MaintPage) *observed {
				seen := world(m, false, true, toApp)
				seen.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
					State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "x"}},
				}}
				return seen
			},
			publish: v1alpha1.StatusNotPublished,
			want:    "False/ImagePullBackOff True/PodReady False/PageNotReady True/ImagePullBackOff",
		},
		{
			name: "foreign Service", m: sample(published), seen: func(m *v1alpha1.MaintPage) *observed {
				seen := world(m, true, true, toPage)
				seen.service.OwnerReferences = nil
				return seen
			},
			failed:  &apply.NotOwnedError{Object: &corev1.Service{}, Kind: "Service"},
			publish: v1alpha1.StatusNotPublished,
			want:    "True/PodReady True/PodReady False/ServiceMissing True/NotOwned",
		},
		{
			name: "the old pod is going", m: sample(), seen: func(m *v1alpha1.MaintPage) *observed {
				seen := world(m, true, true, toApp)
				seen.pod.DeletionTimestamp = ptr.To(metav1.Now())
				return seen
			},
			failed:  &apply.TerminatingError{Object: &corev1.Pod{}, Kind: "Pod"},
			publish: v1alpha1.StatusNotPublished,
			want:    "False/PodNotReady True/PodReady True/NotPublished False/AsExpected",
		},
		{
			name: "unsupported", m: sample(func(s *v1alpha1.MaintPageSpec) { s.Adopt = true }),
			seen:    func(*v1alpha1.MaintPage) *observed { return &observed{} },
			publish: v1alpha1.StatusNotPublished,
			want:    "False/PodMissing False/PodMissing False/ServiceMissing True/Unsupported",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := test.seen(test.m)
			s := status(test.m, seen, test.failed)
			var got []string
			for _, conditionType := range []string{
				v1alpha1.ConditionMaintPageReady, v1alpha1.ConditionAppAvailable,
				v1alpha1.ConditionTrafficSwitched, v1alpha1.ConditionDegraded,
			} {
				c := meta.FindStatusCondition(s.Conditions, conditionType)
				if c == nil || c.Message == "" || c.ObservedGeneration != test.m.Generation {
					t.Fatalf("%s: %v", conditionType, c)
				}
				got = append(got, fmt.Sprintf("%s/%s", c.Status, c.Reason))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("conditions %s, want %s", got, test.want)
			}
			if s.MaintPublishStatus != test.publish {
				t.Errorf("%q, want %q", s.MaintPublishStatus, test.publish)
			}
			again := test.m.DeepCopy()
			again.Status = s
			if next := status(again, seen, test.failed); fmt.Sprint(next) != fmt.Sprint(s) {
				t.Errorf("the same observation gives another status:\n%+v\n%+v", s, next)
			}
		})
	}
}
