// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/node"
)

var testTime = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

// running is a StatefulSet of m whose nodes have been up to date for an hour.
func running(m *v1alpha1.Memcached) *observed {
	seen := asStatefulSet(m, world(m, *m.Spec.Size, *m.Spec.Size))
	seen.now, seen.resizable, seen.hitRates = testTime, true, map[string]int32{}
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		pod.UID = types.UID(pod.Name + "/1")
		pod.Annotations = podTemplate(m, testImages).Annotations
		pod.OwnerReferences = []metav1.OwnerReference{{UID: seen.statefulSet.UID, Controller: ptr.To(true)}}
		pod.Spec.Containers = []corev1.Container{{Name: containerName, Resources: resourcesOf(m)}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: containerName, ContainerID: "c1", Resources: ptr.To(resourcesOf(m))}}
		pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(testTime.Add(-time.Hour))
		seen.readings[pod.Name] = reading{verified: true}
	}
	return seen
}

func memory(quantity string) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse(quantity) }
}

func threads(n int32) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) { s.Threads = n }
}

func down(pod *corev1.Pod) {
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(testTime)
}

// kubelet says something about a resize.
func kubelet(pod *corev1.Pod, what corev1.PodConditionType, reason string) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: what, Status: corev1.ConditionTrue, Reason: reason, Message: "words"})
}

// given are the resources of the pod's spec, and those that the kubelet has given it.
func given(pod *corev1.Pod, spec, status func(*v1alpha1.MemcachedSpec)) {
	pod.Spec.Containers[0].Resources = resourcesOf(sample(spec))
	pod.Status.ContainerStatuses[0].Resources = ptr.To(resourcesOf(sample(status)))
}

// says is what memcached answers, in mebibytes.
func says(seen *observed, pod *corev1.Pod, limit, allocated int64) {
	seen.readings[pod.Name] = reading{memory: node.Memory{Limit: limit * mebibyte, Allocated: allocated * mebibyte}}
}

// Nodes have 64Mi, and start from there in every line.
func TestStateOf(t *testing.T) {
	same := func(*v1alpha1.MemcachedSpec) {}
	limits := func(name corev1.ResourceName, quantity string) func(*v1alpha1.MemcachedSpec) {
		return func(s *v1alpha1.MemcachedSpec) {
			s.Resources.Limits = corev1.ResourceList{name: resource.MustParse(quantity)}
		}
	}
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MemcachedSpec)
		seen   func(*observed, *corev1.Pod)
		want   nodeState
	}{
		{"nothing to do", same, func(*observed, *corev1.Pod) {}, upToDate},
		{"a setting", threads(8), func(*observed, *corev1.Pod) {}, outdated},
		{"a setting, and more memory", func(s *v1alpha1.MemcachedSpec) { s.Threads, s.Memory = 8, resource.MustParse("96Mi") }, func(*observed, *corev1.Pod) {}, outdated},
		{"a setting of a node that is down", threads(8), func(_ *observed, pod *corev1.Pod) { down(pod) }, outdated},
		{"down", same, func(_ *observed, pod *corev1.Pod) { down(pod) }, silent},
		{"going", same, func(_ *observed, pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) }, silent},
		{"down, and to grow", memory("96Mi"), func(_ *observed, pod *corev1.Pod) { down(pod) }, silent},
		{"unread", same, func(seen *observed, pod *corev1.Pod) { delete(seen.readings, pod.Name) }, silent},
		{"no answer", same, func(seen *observed, pod *corev1.Pod) { seen.readings[pod.Name] = reading{err: errors.New("timeout")} }, silent},
		{"read, and as wanted", same, func(seen *observed, pod *corev1.Pod) { says(seen, pod, 64, 64) }, upToDate},
		{"somebody has changed the limit", same, func(seen *observed, pod *corev1.Pod) { says(seen, pod, 65, 10) }, adjusting},
		{"somebody has changed the annotation", same, func(_ *observed, pod *corev1.Pod) { pod.Annotations[annotationMemory] = "8" }, adjusting},

		// Growing: the pod, the kubelet, memcached.
		{"to grow", memory("96Mi"), func(*observed, *corev1.Pod) {}, growing},
		{"to grow, unread", memory("96Mi"), func(seen *observed, pod *corev1.Pod) { delete(seen.readings, pod.Name) }, growing},
		{"the kubelet has not seen it", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), same)
			says(seen, pod, 64, 64)
		}, resizing},
		{"the kubelet is at it", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), memory("96Mi"))
			kubelet(pod, corev1.PodResizeInProgress, "")
			says(seen, pod, 64, 64)
		}, resizing},
		{"too large for the machine", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), same)
			kubelet(pod, corev1.PodResizePending, corev1.PodReasonInfeasible)
			says(seen, pod, 64, 64)
		}, resizing},
		{"not now", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), same)
			kubelet(pod, corev1.PodResizePending, corev1.PodReasonDeferred)
			says(seen, pod, 64, 64)
		}, resizing},
		{"the pod has grown", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), memory("96Mi"))
			says(seen, pod, 64, 64)
		}, adjusting},
		{"memcached has grown, which nobody has noted", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), memory("96Mi"))
			says(seen, pod, 96, 64)
		}, adjusting},
		{"grown", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), memory("96Mi"))
			pod.Annotations[annotationMemory] = "96"
			says(seen, pod, 96, 64)
		}, upToDate},
		{"a kubelet that tells no resources", memory("96Mi"), func(seen *observed, pod *corev1.Pod) {
			given(pod, memory("96Mi"), same)
			pod.Status.ContainerStatuses[0].Resources = nil
			says(seen, pod, 64, 64)
		}, adjusting},

		// Shrinking: memcached, its pages, the pod.
		{"to shrink", memory("32Mi"), func(seen *observed, pod *corev1.Pod) { says(seen, pod, 64, 64) }, adjusting},
		{"to shrink, no answer", memory("32Mi"), func(seen *observed, pod *corev1.Pod) { seen.readings[pod.Name] = reading{err: errors.New("timeout")} }, silent},
		{"pages are left", memory("32Mi"), func(seen *observed, pod *corev1.Pod) {
			pod.Annotations[annotationMemory] = "32"
			says(seen, pod, 32, 33)
		}, adjusting},
		{"memcached has shrunk", memory("32Mi"), func(seen *observed, pod *corev1.Pod) {
			pod.Annotations[annotationMemory] = "32"
			says(seen, pod, 32, 32)
		}, shrinking},
		{"the kubelet has not seen the smaller size", memory("32Mi"), func(seen *observed, pod *corev1.Pod) {
			pod.Annotations[annotationMemory] = "32"
			given(pod, memory("32Mi"), same)
			says(seen, pod, 32, 32)
		}, resizing},
		{"a shrink in progress", memory("32Mi"), func(seen *observed, pod *corev1.Pod) {
			pod.Annotations[annotationMemory] = "32"
			given(pod, memory("32Mi"), same)
			kubelet(pod, corev1.PodResizeInProgress, "")
			says(seen, pod, 32, 32)
		}, resizing},
		{"the kubelet refuses to shrink", memory("32Mi"), func(seen *observed, pod *corev1.Pod) {
			pod.Annotations[annotationMemory] = "32"
			given(pod, memory("32Mi"), same)
			kubelet(pod, corev1.PodResizeInProgress, corev1.PodReasonError)
			says(seen, pod, 32, 32)
		}, upToDate},

		// Resources that the user has set.
		{"a larger limit", limits(corev1.ResourceMemory, "1Gi"), func(*observed, *corev1.Pod) {}, growing},
		{"a smaller limit", limits(corev1.ResourceMemory, "100Mi"), func(*observed, *corev1.Pod) {}, shrinking},
		{"a limit of CPU", limits(corev1.ResourceCPU, "2"), func(*observed, *corev1.Pod) {}, shrinking},
		{"a limit of CPU that is the request", limits(corev1.ResourceCPU, "100m"), func(*observed, *corev1.Pod) {}, outdated},
		{"a limit of what cannot be resized", limits(corev1.ResourceEphemeralStorage, "1Gi"), func(*observed, *corev1.Pod) {}, outdated},
		{"a limit taken away", same, func(_ *observed, pod *corev1.Pod) {
			had := sample(stateful, limits(corev1.ResourceCPU, "2"))
			pod.Annotations = podTemplate(had, testImages).Annotations
			pod.Spec.Containers[0].Resources = resourcesOf(had)
		}, outdated},
		{"a limit that a LimitRange has set", same, func(_ *observed, pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
		}, upToDate},
		{"a request that the API server has set", limits(corev1.ResourceEphemeralStorage, "1Gi"), func(_ *observed, pod *corev1.Pod) {
			had := sample(stateful, limits(corev1.ResourceEphemeralStorage, "1Gi"))
			pod.Annotations = podTemplate(had, testImages).Annotations
			pod.Spec.Containers[0].Resources = resourcesOf(had)
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
		}, upToDate},

		// An API server that cannot resize.
		{"memory, without resizing", memory("96Mi"), func(seen *observed, _ *corev1.Pod) { seen.resizable = false }, outdated},
		{"less memory, without resizing", memory("32Mi"), func(seen *observed, _ *corev1.Pod) { seen.resizable = false }, outdated},
		{"nothing to do, without resizing", same, func(seen *observed, _ *corev1.Pod) { seen.resizable = false }, upToDate},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := running(sample(stateful))
			pod := &seen.nodes[1]
			test.seen(seen, pod)
			if got := stateOf(sample(stateful, test.change), seen, pod); got != test.want {
				t.Errorf("state %d, want %d", got, test.want)
			}
		})
	}
}

func TestNextStep(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MemcachedSpec)
		seen   func(*observed)
		state  nodeState
		pod    string
	}{
		{"nothing to do", threads(4), func(*observed) {}, upToDate, ""},
		{"the first one grows", memory("96Mi"), func(*observed) {}, growing, "sample-0"},
		{"a waiting one does not hold up the others", memory("96Mi"), func(seen *observed) {
			given(&seen.nodes[0], memory("96Mi"), memory("64Mi"))
			kubelet(&seen.nodes[0], corev1.PodResizePending, corev1.PodReasonInfeasible)
		}, growing, "sample-1"},
		{"nor does one that is down", memory("96Mi"), func(seen *observed) { down(&seen.nodes[0]) }, growing, "sample-1"},
		{"a node is finished before the next is begun", memory("96Mi"), func(seen *observed) {
			given(&seen.nodes[0], memory("96Mi"), memory("96Mi"))
		}, adjusting, "sample-0"},
		{"restart", threads(8), func(*observed) {}, outdated, "sample-2"},
		{"a StatefulSet whose controller is behind", threads(8), func(seen *observed) { seen.statefulSet.Generation = 2 }, upToDate, ""},
		{"no StatefulSet", memory("96Mi"), func(seen *observed) { seen.statefulSet = nil }, upToDate, ""},
		{"another's StatefulSet", memory("96Mi"), func(seen *observed) { seen.statefulSet.OwnerReferences = nil }, upToDate, ""},
		{"a Deployment's pod is left", memory("96Mi"), func(seen *observed) { seen.nodes[0].OwnerReferences[0].UID = "replicaset" }, upToDate, ""},
		{"a Deployment", func(s *v1alpha1.MemcachedSpec) {
			s.Workload, s.Memory = v1alpha1.WorkloadDeployment, resource.MustParse("96Mi")
		}, func(seen *observed) { seen.deployment = &appsv1.Deployment{} }, upToDate, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := running(sample(stateful))
			test.seen(seen)
			got := nextStep(sample(stateful, test.change), seen)
			if test.pod == "" {
				if got != nil {
					t.Errorf("state %d of %s", got.state, got.pod.Name)
				}
				return
			}
			if got == nil || got.state != test.state || got.pod.Name != test.pod {
				t.Errorf("%+v, want %d of %s", got, test.state, test.pod)
			}
		})
	}
}

func TestChangeMessage(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MemcachedSpec)
		seen   func(*observed)
		want   string
	}{
		{"none", threads(4), func(*observed) {}, ""},
		{"memory", memory("96Mi"), func(*observed) {}, "memory 64Mi → 96Mi: live, 3 of 3 nodes to go"},
		{"memory, one node done", memory("96Mi"), func(seen *observed) {
			given(&seen.nodes[0], memory("96Mi"), memory("96Mi"))
			seen.nodes[0].Annotations[annotationMemory] = "96"
		}, "memory 64Mi → 96Mi: live, 2 of 3 nodes to go"},
		{"resources", func(s *v1alpha1.MemcachedSpec) { s.Resources.Limits = ofMemory("1Gi") }, func(*observed) {}, "resources: live, 3 of 3 nodes to go"},
		{"restart", threads(8), func(*observed) {}, "threads 4 → 8: restart, one node at a time, 3 of 3 to go"},
		{"restart that waits", threads(8), func(seen *observed) { down(&seen.nodes[2]) },
			"threads 4 → 8: restart, one node at a time, 3 of 3 to go; waiting for node sample-2 to be ready"},
		{"no resizing", memory("96Mi"), func(seen *observed) { seen.resizable = false },
			"memory and resources, which this API server cannot change in a running pod (Kubernetes can since 1.33): restart, one node at a time, 3 of 3 to go"},
		{"another quality of service", func(s *v1alpha1.MemcachedSpec) {
			s.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		}, func(*observed) {}, "resources, with which the pods' quality of service changes: restart, one node at a time, 3 of 3 to go"},
		{"both", memory("96Mi"), func(seen *observed) {
			seen.nodes[1].Annotations = podTemplate(sample(threads(2)), testImages).Annotations
		}, "threads 2 → 4: restart, one node at a time, 1 of 3 to go; memory 64Mi → 96Mi: live, 2 of 3 nodes to go"},
		{"a Deployment", func(s *v1alpha1.MemcachedSpec) { s.Workload, s.Threads = v1alpha1.WorkloadDeployment, 8 }, func(*observed) {}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := running(sample(stateful))
			test.seen(seen)
			if got := changeMessage(sample(stateful, test.change), seen); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// What the kubelet cannot do is told; what it is just doing, or need not do, is not.
func TestResizeCause(t *testing.T) {
	for _, test := range []struct {
		name, want string
		seen       func(*corev1.Pod)
	}{
		{"nothing", "", func(*corev1.Pod) {}},
		{"in progress", "", func(pod *corev1.Pod) { kubelet(pod, corev1.PodResizeInProgress, "") }},
		{"infeasible", "ResizeInfeasible", func(pod *corev1.Pod) {
			given(pod, memory("96Mi"), memory("64Mi"))
			kubelet(pod, corev1.PodResizePending, corev1.PodReasonInfeasible)
		}},
		{"a shrink that is refused", "", func(pod *corev1.Pod) {
			given(pod, memory("32Mi"), memory("64Mi"))
			kubelet(pod, corev1.PodResizeInProgress, corev1.PodReasonError)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := running(sample(stateful))
			test.seen(&seen.nodes[1])
			got := resizeCause(seen)
			if test.want == "" != (got == nil) || got != nil && (got.reason != test.want || !strings.Contains(got.message, "sample-1: words")) {
				t.Errorf("%+v, want %q", got, test.want)
			}
		})
	}
}

func TestNextLook(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MemcachedSpec)
		seen   func(*observed)
		want   time.Duration
	}{
		{"nothing to wait for", threads(4), func(*observed) {}, 0},
		{"the API server refuses", threads(4), func(seen *observed) { seen.infeasible = &cause{} }, time.Minute},
		{"no answer", threads(4), func(seen *observed) { seen.readings["sample-1"] = reading{err: errors.New("timeout")} }, 5 * time.Second},
		{"the sooner of two", threads(4), func(seen *observed) {
			seen.infeasible = &cause{}
			seen.readings["sample-1"] = reading{err: errors.New("timeout")}
		}, 5 * time.Second},
		{"memcached was told", threads(4), func(seen *observed) { seen.done = &step{state: adjusting} }, time.Second},
		{"the kubelet was told, and tells us", threads(4), func(seen *observed) { seen.done = &step{state: growing} }, 0},
		{"flushed", threads(4), func(seen *observed) { seen.flushed = "sample-0" }, time.Second},
		{"not ready for long enough", func(s *v1alpha1.MemcachedSpec) { s.MinReadySeconds = 3600 + 5 }, func(*observed) {}, time.Second},
		{"down, and tells when it is not", func(s *v1alpha1.MemcachedSpec) { s.MinReadySeconds = 5 }, func(seen *observed) { down(&seen.nodes[0]) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := sample(stateful, test.change)
			seen := running(m)
			test.seen(seen)
			if got := nextLook(m, seen); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
