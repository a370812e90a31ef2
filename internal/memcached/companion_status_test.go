// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// What tells about the nodes has a say in whether they can be found, and no other.
func TestStatusWithCompanions(t *testing.T) {
	discovered := func(s *v1alpha1.MemcachedSpec) {
		s.Discovery = &v1alpha1.MemcachedDiscovery{Replicas: 2, Port: 11211, HTTPPort: 8080}
	}
	monitored := func(s *v1alpha1.MemcachedSpec) {
		s.Monitoring = &v1alpha1.MemcachedMonitoring{Port: 9150, ServiceMonitor: &v1alpha1.MemcachedServiceMonitor{}}
	}
	pulling := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sample-metrics-x"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
		}}},
	}
	for _, test := range []struct {
		name      string
		m         *v1alpha1.Memcached
		available int32 // pods of discovery
		change    func(*observed)
		images    images
		want      map[string]string // status/reason by condition
		endpoint  string
	}{
		{
			name: "discovery answers", m: sample(discovered), available: 1, images: testImages,
			want: map[string]string{"Available": "True/AllNodesReady", "Progressing": "False/AllNodesReady", "Degraded": "False/AsExpected"},
			// Clients are best given the address that tells them all others.
			endpoint: "sample-discovery.default.svc:11211",
		},
		{
			name: "discovery does not answer yet", m: sample(discovered), images: testImages,
			want:     map[string]string{"Available": "False/DiscoveryNotReady", "Progressing": "True/Creating", "Degraded": "False/AsExpected"},
			endpoint: "sample-discovery.default.svc:11211",
		},
		{
			name: "discovery does not answer any more", m: settledWith(discovered), images: testImages,
			want:     map[string]string{"Available": "False/DiscoveryNotReady", "Progressing": "False/DiscoveryNotReady", "Degraded": "True/DiscoveryNotReady"},
			endpoint: "sample-discovery.default.svc:11211",
		},
		{
			name: "discovery has no Service", m: sample(discovered), available: 1, images: testImages,
			change:   func(seen *observed) { seen.discovery.service = nil },
			want:     map[string]string{"Available": "False/DiscoveryNotReady", "Progressing": "True/Creating", "Degraded": "False/AsExpected"},
			endpoint: "sample.default.svc:11211",
		},
		{
			name: "metrics cannot run", m: sample(monitored), images: testImages,
			change: func(seen *observed) {
				seen.companions, seen.serviceMonitorsKnown = []corev1.Pod{pulling}, true
			},
			want:     map[string]string{"Available": "True/AllNodesReady", "Progressing": "False/AllNodesReady", "Degraded": "True/ImagePullBackOff"},
			endpoint: "sample.default.svc:11211",
		},
		{
			name: "metrics may not run", m: sample(monitored), images: testImages,
			change: func(seen *observed) {
				seen.metrics.deployment.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: q",
				}}
			},
			want:     map[string]string{"Available": "True/AllNodesReady", "Degraded": "True/QuotaExceeded"},
			endpoint: "sample.default.svc:11211",
		},
		{
			name: "nobody knows ServiceMonitors", m: sample(monitored), images: testImages,
			want:     map[string]string{"Available": "True/AllNodesReady", "Degraded": "False/ServiceMonitorUnknown"},
			endpoint: "sample.default.svc:11211",
		},
		{
			name: "no image to run", m: sample(monitored), images: images{memcached: DefaultImage},
			want:     map[string]string{"Available": "True/AllNodesReady", "Degraded": "True/NoCompanionImage"},
			endpoint: "sample.default.svc:11211",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := withCompanions(test.m, world(test.m, 3, 3), test.available)
			if test.change != nil {
				test.change(seen)
			}
			s := status(test.m, seen, test.images, nil)
			for conditionType, want := range test.want {
				c := meta.FindStatusCondition(s.Conditions, conditionType)
				if got := string(c.Status) + "/" + c.Reason; got != want || c.Message == "" {
					t.Errorf("%s is %s (%s), want %s", conditionType, got, c.Message, want)
				}
			}
			if s.Endpoint != test.endpoint || s.Ready != "3/3" {
				t.Errorf("endpoint %s, ready %s", s.Endpoint, s.Ready)
			}
		})
	}
}

// withCompanions adds the companions that m asks for to a world.
func withCompanions(m *v1alpha1.Memcached, seen *observed, available int32) *observed {
	owner := metav1.ObjectMeta{Generation: 1, OwnerReferences: []metav1.OwnerReference{{UID: m.UID, Controller: ptr.To(true)}}}
	children := func() companionChildren {
		return companionChildren{
			deployment: &appsv1.Deployment{ObjectMeta: owner, Status: appsv1.DeploymentStatus{ObservedGeneration: 1, AvailableReplicas: available}},
			service:    &corev1.Service{ObjectMeta: owner},
		}
	}
	if m.Spec.Discovery != nil {
		seen.discovery = children()
	}
	if m.Spec.Monitoring != nil {
		seen.metrics = children()
	}
	return seen
}

// settledWith is a resource after all its nodes have been ready and could be found.
func settledWith(change func(*v1alpha1.MemcachedSpec)) *v1alpha1.Memcached {
	m := sample(change)
	m.Status = status(m, withCompanions(m, world(m, 3, 3), 1), testImages, nil)
	return m
}
