// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/node"
)

func warmup(s *v1alpha1.MemcachedSpec) {
	s.Warmup = &v1alpha1.MemcachedWarmup{HitRatePercent: 80, TimeoutSeconds: 600}
}

// restarted is the status after the restart of a node that had a hit rate of 90 %.
func restarted(name string, before time.Duration) *v1alpha1.MemcachedRestartStatus {
	return &v1alpha1.MemcachedRestartStatus{Node: name, UID: name + "/0", StartTime: metav1.NewTime(testTime.Add(-before)), HitRatePercent: 90}
}

// readyFor makes a node one that came up a while ago.
func readyFor(pod *corev1.Pod, since time.Duration) {
	pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(testTime.Add(-since))
}

// remade makes a node one of the current template.
func remade(pod *corev1.Pod, m *v1alpha1.Memcached) {
	pod.Annotations = podTemplate(m, testImages).Annotations
	pod.Spec.Containers[0].Resources = resourcesOf(m)
	pod.Status.ContainerStatuses[0].Resources = ptr.To(resourcesOf(m))
}

// Every node has 4 threads, and is to have 8.
func TestNextRestart(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.MemcachedSpec)
		seen   func(*v1alpha1.Memcached, *observed)
		want   string // the node
		waits  string // what for
	}{
		{"the highest number", threads(8), func(*v1alpha1.Memcached, *observed) {}, "sample-2", ""},
		{"then the next", threads(8), func(m *v1alpha1.Memcached, seen *observed) {
			remade(&seen.nodes[2], m)
		}, "sample-1", ""},
		{"nothing to do", threads(4), func(*v1alpha1.Memcached, *observed) {}, "", ""},
		{"one that is down, at once", threads(8), func(_ *v1alpha1.Memcached, seen *observed) { down(&seen.nodes[0]) }, "sample-0", "sample-0 to be ready"},
		{"a new one is not ready", threads(8), func(m *v1alpha1.Memcached, seen *observed) {
			remade(&seen.nodes[2], m)
			down(&seen.nodes[2])
		}, "", "sample-2 to be ready"},
		{"one is missing", threads(8), func(_ *v1alpha1.Memcached, seen *observed) { seen.nodes = seen.nodes[:2] }, "", "there are 3 nodes"},
		{"one too many", threads(8), func(_ *v1alpha1.Memcached, seen *observed) {
			seen.nodes = append(seen.nodes, *seen.nodes[0].DeepCopy())
		}, "", "there are 3 nodes"},
		{"not ready for long", func(s *v1alpha1.MemcachedSpec) { s.Threads, s.MinReadySeconds = 8, 60 }, func(_ *v1alpha1.Memcached, seen *observed) {
			readyFor(&seen.nodes[0], 59*time.Second)
		}, "", "sample-0 to be ready"},
		{"ready for long enough", func(s *v1alpha1.MemcachedSpec) { s.Threads, s.MinReadySeconds = 8, 60 }, func(_ *v1alpha1.Memcached, seen *observed) {
			readyFor(&seen.nodes[0], time.Minute)
		}, "sample-2", ""},
		{"no answer", threads(8), func(_ *v1alpha1.Memcached, seen *observed) {
			seen.readings["sample-1"] = reading{err: errors.New("timeout")}
		}, "", "sample-1 to answer: timeout"},
		{"another is being resized", threads(8), func(m *v1alpha1.Memcached, seen *observed) {
			remade(&seen.nodes[2], m)
			kubelet(&seen.nodes[2], corev1.PodResizeInProgress, "")
		}, "", "sample-2 to be resized"},
		{"warming", func(s *v1alpha1.MemcachedSpec) { threads(8)(s); warmup(s) }, func(m *v1alpha1.Memcached, seen *observed) {
			m.Status.Restart = restarted("sample-2", time.Minute)
			readyFor(&seen.nodes[2], 30*time.Second)
			seen.hitRates["sample-2"] = 50
		}, "", "sample-2 to warm up to 80 % of its hit rate of 90 %"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := sample(stateful, test.change)
			seen := running(sample(stateful))
			test.seen(m, seen)
			if got := ptr.Deref(nextRestart(m, seen), corev1.Pod{}).Name; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if got := restartWaits(m, seen); got != "" != (test.waits != "") || !strings.HasSuffix(got, test.waits) {
				t.Errorf("it waits for %q, want %q", got, test.waits)
			}
		})
	}
}

// The node was restarted a minute ago, is ready for half a minute, and has to reach 80 %
// of 90 %.
func TestWarming(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*v1alpha1.Memcached, *observed)
		want   bool
	}{
		{"no reads yet", func(*v1alpha1.Memcached, *observed) {}, true},
		{"cold", func(_ *v1alpha1.Memcached, seen *observed) { seen.hitRates["sample-2"] = 71 }, true},
		{"warm", func(_ *v1alpha1.Memcached, seen *observed) { seen.hitRates["sample-2"] = 72 }, false},
		{"another node is warm", func(_ *v1alpha1.Memcached, seen *observed) { seen.hitRates["sample-1"] = 100 }, true},
		{"it was warm before", func(m *v1alpha1.Memcached, _ *observed) { m.Status.Restart.Warm = true }, false},
		{"it had hardly any reads before", func(m *v1alpha1.Memcached, _ *observed) { m.Status.Restart.HitRatePercent = 0 }, false},
		{"nobody waits for it", func(m *v1alpha1.Memcached, _ *observed) { m.Spec.Warmup = nil }, false},
		{"nothing was restarted", func(m *v1alpha1.Memcached, _ *observed) { m.Status.Restart = nil }, false},
		{"gone with a smaller size", func(_ *v1alpha1.Memcached, seen *observed) { seen.nodes = seen.nodes[:2] }, false},
		{"not restarted yet", func(m *v1alpha1.Memcached, seen *observed) { m.Status.Restart.UID = string(seen.nodes[2].UID) }, false},
		{"not ready yet", func(_ *v1alpha1.Memcached, seen *observed) { down(&seen.nodes[2]) }, true},
		{"just in time", func(_ *v1alpha1.Memcached, seen *observed) { readyFor(&seen.nodes[2], 599*time.Second) }, true},
		{"time is up", func(_ *v1alpha1.Memcached, seen *observed) { readyFor(&seen.nodes[2], 600*time.Second) }, false},
		{"it comes and goes, and time is up", func(m *v1alpha1.Memcached, _ *observed) { m.Status.Restart = restarted("sample-2", 1201*time.Second) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := sample(stateful, warmup)
			m.Status.Restart = restarted("sample-2", time.Minute)
			seen := running(m)
			readyFor(&seen.nodes[2], 30*time.Second)
			test.change(m, seen)
			if got := warming(m, seen); got != test.want {
				t.Error(got)
			}
			if look := nextLook(m, seen); test.want && look != warmupLook {
				t.Errorf("the next look is in %v", look)
			}
		})
	}
}

func TestRestartStatus(t *testing.T) {
	m := sample(stateful, warmup)
	seen := running(m)
	for reads, want := range map[node.Reads]int32{
		{Gets: 1000, Hits: 905}: 90, {Gets: 50, Hits: 50}: 100, {Gets: 49, Hits: 49}: 0, {}: 0,
	} {
		seen.done = &step{outdated, &seen.nodes[1]}
		seen.readings["sample-1"] = reading{reads: reads}
		s := restartStatus(m, seen)
		if s == nil || s.Node != "sample-1" || s.UID != "sample-1/1" || !s.StartTime.Time.Equal(testTime) || s.HitRatePercent != want || s.Warm {
			t.Errorf("%+v: %+v", reads, s)
		}
	}
	seen.done = &step{growing, &seen.nodes[1]}
	if s := restartStatus(m, seen); s != nil {
		t.Errorf("a resize is told as a restart: %+v", s)
	}
	seen.done = nil

	m.Status.Restart = restarted("sample-1", time.Minute)
	readyFor(&seen.nodes[1], time.Second)
	for _, test := range []struct {
		name   string
		change func()
		warm   bool
	}{
		{"cold", func() { seen.hitRates["sample-1"] = 10 }, false},
		{"warm", func() { seen.hitRates["sample-1"] = 90 }, true},
		{"not ready", func() { down(&seen.nodes[1]) }, false},
		{"the old one", func() {
			m.Status.Restart.UID, seen.nodes[1].Status.Conditions[0].Status = "sample-1/1", corev1.ConditionTrue
		}, false},
	} {
		test.change()
		if s := restartStatus(m, seen); s == nil || s.Warm != test.warm || m.Status.Restart.Warm {
			t.Errorf("%s: %+v", test.name, s)
		}
	}
	m.Spec.Workload = v1alpha1.WorkloadDeployment
	if s := restartStatus(m, seen); s != nil {
		t.Errorf("a Deployment: %+v", s)
	}
}

// The whole way: three nodes, each of which takes 7 s to come back and 20 s to warm up.
func TestRollout(t *testing.T) {
	had := sample(stateful)
	m := sample(stateful, threads(8), warmup, func(s *v1alpha1.MemcachedSpec) { s.MinReadySeconds = 5 })
	seen := running(had)
	all := seen.nodes
	gone := map[string]time.Time{}
	var order []string
	var last time.Time
	for end := testTime.Add(10 * time.Minute); seen.now.Before(end); seen.now = seen.now.Add(time.Second) {
		seen.nodes, seen.done = nil, nil
		up := 0
		for i := range all {
			pod := &all[i]
			since, replaced := gone[pod.Name]
			switch came := since.Add(7 * time.Second); {
			case !replaced:
				up++
			case seen.now.Before(since.Add(3 * time.Second)):
				continue // it is going, and not seen any more
			case seen.now.Before(came):
				down(pod)
			default:
				up++
				pod.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(came)}
				seen.hitRates[pod.Name] = min(90, int32(seen.now.Sub(came)/time.Second)*4)
			}
			seen.nodes = append(seen.nodes, *pod)
		}
		if up < 2 {
			t.Fatalf("%d nodes are up after %q", up, order)
		}
		for _, pod := range seen.nodes {
			seen.readings[pod.Name] = reading{verified: true, reads: node.Reads{Gets: 1000, Hits: 900}}
		}
		seen.done = nextStep(m, seen)
		m.Status.Restart = restartStatus(m, seen)
		if seen.done == nil {
			continue
		}
		name := seen.done.pod.Name
		if seen.done.state != outdated || up < 3 || !last.IsZero() && seen.now.Sub(last) < 25*time.Second {
			t.Fatalf("state %d of %s with %d nodes up, %v after the last one", seen.done.state, name, up, seen.now.Sub(last))
		}
		order, last = append(order, name), seen.now
		gone[name] = seen.now
		for i := range all {
			if pod := &all[i]; pod.Name == name {
				pod.UID = types.UID(fmt.Sprintf("%s/%d", name, len(order)+1))
				remade(pod, m)
			}
		}
	}
	if got := strings.Join(order, " "); got != "sample-2 sample-1 sample-0" || updatedNodes(m, seen) != 3 || !m.Status.Restart.Warm || changeMessage(m, seen) != "" {
		t.Errorf("%s, %d are up to date, %+v", got, updatedNodes(m, seen), m.Status.Restart)
	}
}
