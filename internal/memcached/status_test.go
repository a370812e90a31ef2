// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// testImages are those that the operator was told.
var testImages = images{memcached: DefaultImage, companion: "example.com/operator:1"}

// world is an observation of m with a number of nodes, the first of which are ready.
func world(m *v1alpha1.Memcached, nodes, ready int32) *observed {
	owner := []metav1.OwnerReference{{UID: m.UID, Controller: ptr.To(true)}}
	seen := &observed{
		listed: map[string]bool{},
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Generation: 1, OwnerReferences: owner},
			Spec:       appsv1.DeploymentSpec{Replicas: m.Spec.Size},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: nodes, UpdatedReplicas: nodes, ReadyReplicas: ready, AvailableReplicas: ready,
			},
		},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: owner},
			Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
		},
	}
	for i := range nodes {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("sample-%d", i)}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if i < ready {
			pod.Status.Conditions[0].Status = corev1.ConditionTrue
		}
		seen.nodes = append(seen.nodes, pod)
		seen.listed[pod.Name] = i < ready
	}
	return seen
}

func stateful(s *v1alpha1.MemcachedSpec) { s.Workload = v1alpha1.WorkloadStatefulSet }

// asStatefulSet is the same world with a StatefulSet in the place of the Deployment.
func asStatefulSet(m *v1alpha1.Memcached, seen *observed) *observed {
	d := seen.deployment
	seen.deployment = nil
	seen.statefulSet = &appsv1.StatefulSet{
		ObjectMeta: d.ObjectMeta,
		Spec:       appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas},
		Status: appsv1.StatefulSetStatus{
			ObservedGeneration: d.Status.ObservedGeneration, Replicas: d.Status.Replicas, UpdatedReplicas: d.Status.UpdatedReplicas,
			ReadyReplicas: d.Status.ReadyReplicas, AvailableReplicas: d.Status.AvailableReplicas,
		},
	}
	seen.statefulSet.UID = "set"
	seen.readings = map[string]reading{}
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		pod.OwnerReferences = []metav1.OwnerReference{{UID: seen.statefulSet.UID, Controller: ptr.To(true)}}
		pod.Annotations = nodeAnnotations(m, &corev1ac.PodSpecApplyConfiguration{Containers: []corev1ac.ContainerApplyConfiguration{{}}})
		pod.Spec.Containers = []corev1.Container{{Name: containerName, Resources: resourcesOf(m)}}
		seen.readings[pod.Name] = reading{verified: true}
	}
	seen.resizable = true
	return seen
}

// settled is m after all its nodes have been ready.
func settled(m *v1alpha1.Memcached) *v1alpha1.Memcached {
	m.Status = status(m, world(m, *m.Spec.Size, *m.Spec.Size), testImages, nil)
	return m
}

func TestStatus(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "sample", errors.New("exceeded quota: q"))
	pulling := func(seen *observed) *observed {
		seen.nodes[0].Status.ContainerStatuses = []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}},
		}}
		return seen
	}
	tests := []struct {
		name   string
		m      *v1alpha1.Memcached
		seen   func(m *v1alpha1.Memcached) *observed
		failed error

		// type=status/reason of Available, Progressing and Degraded, in this order
		want  string
		phase v1alpha1.MemcachedPhase
		ready string
	}{
		{
			name: "new", m: sample(),
			seen: func(*v1alpha1.Memcached) *observed { return &observed{} },
			want: "False/NodesNotReady True/Creating False/AsExpected", phase: v1alpha1.PhasePending, ready: "0/3",
		},
		{
			name: "some nodes ready", m: sample(),
			seen: func(m *v1alpha1.Memcached) *observed { return world(m, 3, 2) },
			want: "False/NodesNotReady True/Creating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "2/3",
		},
		{
			name: "all nodes ready", m: sample(),
			seen: func(m *v1alpha1.Memcached) *observed { return world(m, 3, 3) },
			want: "True/AllNodesReady False/AllNodesReady False/AsExpected", phase: v1alpha1.PhaseRunning, ready: "3/3",
		},
		{
			name: "the Deployment's controller has not seen the change", m: settled(sample()),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 3, 3)
				seen.deployment.Generation, seen.written = 2, true
				return seen
			},
			want: "False/NodesNotReady True/Updating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "3/3",
		},
		{
			name: "the Deployment's controller has not seen an annotation", m: settled(sample()),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 3, 3)
				seen.deployment.Generation = 2
				return seen
			},
			want: "True/AllNodesReady False/AllNodesReady False/AsExpected", phase: v1alpha1.PhaseRunning, ready: "3/3",
		},
		{
			name: "old pods are left", m: settled(sample()),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 3, 3)
				seen.deployment.Status.UpdatedReplicas = 1
				return seen
			},
			want: "False/NodesNotReady True/Updating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "3/3",
		},
		{
			name: "the Service is missing", m: settled(sample()),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 3, 3)
				seen.service = nil
				return seen
			},
			want: "False/NodesNotReady False/NodesNotReady True/NodesNotReady", phase: v1alpha1.PhaseDegraded, ready: "3/3",
		},
		{
			name: "a ready node is not in the Service", m: sample(),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 3, 3)
				delete(seen.listed, "sample-1")
				return seen
			},
			want: "False/NodesNotReady True/Creating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "3/3",
		},
		{
			name: "StatefulSet", m: sample(stateful),
			seen: func(m *v1alpha1.Memcached) *observed { return asStatefulSet(m, world(m, 3, 3)) },
			want: "True/AllNodesReady False/AllNodesReady False/AsExpected", phase: v1alpha1.PhaseRunning, ready: "3/3",
		},
		{
			name: "the Deployment is left beside the StatefulSet", m: sample(stateful),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 6, 6)
				seen.statefulSet = asStatefulSet(m, world(m, 3, 3)).statefulSet
				return seen
			},
			want: "False/NodesNotReady True/Creating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "6/3",
		},
		{
			name: "a node is lost", m: settled(sample()),
			seen: func(m *v1alpha1.Memcached) *observed { return world(m, 3, 2) },
			want: "False/NodesNotReady False/NodesNotReady True/NodesNotReady", phase: v1alpha1.PhaseDegraded, ready: "2/3",
		},
		{
			name: "size 0", m: sample(func(s *v1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](0) }),
			seen: func(m *v1alpha1.Memcached) *observed { return world(m, 0, 0) },
			want: "True/ScaledToZero False/ScaledToZero False/AsExpected", phase: v1alpha1.PhaseRunning, ready: "0/0",
		},
		{
			name: "image cannot be pulled", m: sample(),
			seen: func(m *v1alpha1.Memcached) *observed { return pulling(world(m, 3, 0)) },
			want: "False/NodesNotReady True/Creating True/ImagePullBackOff", phase: v1alpha1.PhaseDegraded, ready: "0/3",
		},
		{
			name: "quota for pods", m: sample(),
			seen: func(m *v1alpha1.Memcached) *observed {
				seen := world(m, 0, 0)
				seen.deployment.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "forbidden: exceeded quota: q",
				}}
				return seen
			},
			want: "False/NodesNotReady True/Creating True/QuotaExceeded", phase: v1alpha1.PhaseDegraded, ready: "0/3",
		},
		{
			name: "name taken", m: sample(),
			seen:   func(*v1alpha1.Memcached) *observed { return &observed{deployment: &appsv1.Deployment{}} },
			failed: &apply.NotOwnedError{Object: &appsv1.Deployment{}, Kind: "Deployment"},
			want:   "False/NotOwned False/NotOwned True/NotOwned", phase: v1alpha1.PhaseDegraded, ready: "0/3",
		},
		{
			name: "quota", m: sample(),
			seen:   func(*v1alpha1.Memcached) *observed { return &observed{} },
			failed: forbidden,
			want:   "False/QuotaExceeded False/QuotaExceeded True/QuotaExceeded", phase: v1alpha1.PhaseDegraded, ready: "0/3",
		},
		{
			name: "the old Deployment is going", m: sample(),
			seen:   func(m *v1alpha1.Memcached) *observed { return world(m, 3, 3) },
			failed: &apply.TerminatingError{Object: &appsv1.Deployment{}, Kind: "Deployment"},
			want:   "False/NodesNotReady True/Creating False/AsExpected", phase: v1alpha1.PhaseUpdating, ready: "3/3",
		},
		{
			name: "no Secret", m: sample(func(s *v1alpha1.MemcachedSpec) { s.Auth = &v1alpha1.MemcachedAuth{SecretName: "users"} }),
			seen:   func(*v1alpha1.Memcached) *observed { return &observed{} },
			failed: &secretError{reason: reasonSecretMissing, message: "There is no Secret users"},
			want:   "False/SecretMissing False/SecretMissing True/SecretMissing", phase: v1alpha1.PhaseDegraded, ready: "0/3",
		},
		{
			name: "being deleted", m: func() *v1alpha1.Memcached {
				m := settled(sample())
				m.DeletionTimestamp = ptr.To(metav1.Now())
				return m
			}(),
			seen: func(m *v1alpha1.Memcached) *observed { return world(m, 3, 3) },
			want: "False/Deleting True/Deleting False/Deleting", phase: v1alpha1.PhaseTerminating, ready: "3/3",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := test.seen(test.m)
			s := status(test.m, seen, testImages, test.failed)
			var got []string
			for _, conditionType := range []string{v1alpha1.ConditionAvailable, v1alpha1.ConditionProgressing, v1alpha1.ConditionDegraded} {
				c := meta.FindStatusCondition(s.Conditions, conditionType)
				if c == nil || c.Message == "" || c.ObservedGeneration != test.m.Generation {
					t.Fatalf("%s: %v", conditionType, c)
				}
				got = append(got, fmt.Sprintf("%s/%s", c.Status, c.Reason))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("conditions %s, want %s", got, test.want)
			}
			if s.Phase != test.phase || s.Ready != test.ready {
				t.Errorf("phase %s, ready %s; want %s, %s", s.Phase, s.Ready, test.phase, test.ready)
			}
			if s.ObservedGeneration != test.m.Generation || s.Selector != "app=memcached,memcached_cr=sample" || s.Image == "" {
				t.Errorf("status %+v", s)
			}
			if again := status(withStatus(test.m, s), seen, testImages, test.failed); !equalStatus(s, again) {
				t.Errorf("the same observation gives another status:\n%+v\n%+v", s, again)
			}
		})
	}
}

func withStatus(m *v1alpha1.Memcached, s v1alpha1.MemcachedStatus) *v1alpha1.Memcached {
	m = m.DeepCopy()
	m.Status = s
	return m
}

func equalStatus(a, b v1alpha1.MemcachedStatus) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
}

func TestNodes(t *testing.T) {
	pods := []corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "going", DeletionTimestamp: ptr.To(metav1.Now())}},
		{ObjectMeta: metav1.ObjectMeta{Name: "evicted"}, Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
	}
	m := sample()
	seen := world(m, 0, 0)
	seen.nodes = sorted(podsOf(nil, pods))
	if s := status(m, seen, testImages, nil); !slices.Equal(s.Nodes, []string{"a", "b", "c"}) || s.Size != 3 {
		t.Errorf("%v", s.Nodes)
	}
}
