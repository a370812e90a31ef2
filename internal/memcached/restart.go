// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/podstate"
)

// warmupLook is how often a node that warms up is asked for its hit rate.
const warmupLook = 5 * time.Second

// warmupReads is how many reads a hit rate is taken from at least.
const warmupReads = 50

// nextRestart is the node to restart now, or nil. One that is down already is restarted
// at once; otherwise all nodes have to be up, and the last one warm. So a change that
// breaks a node stops there, and the next change repairs it.
func nextRestart(m *v1alpha1.Memcached, seen *observed) *corev1.Pod {
	var candidate *corev1.Pod
	for i := range seen.nodes { // the highest number last, as a StatefulSet has it
		pod := &seen.nodes[i]
		if stateOf(m, seen, pod) != outdated {
			continue
		}
		if !podstate.Ready(pod) {
			return pod
		}
		candidate = pod
	}
	if candidate == nil || restartWaits(m, seen) != "" {
		return nil
	}
	return candidate
}

// restartWaits tells what the next restart waits for. It is empty if it does not.
func restartWaits(m *v1alpha1.Memcached, seen *observed) string {
	if wanted := int(wantedNodes(m, seen)); len(seen.nodes) != wanted {
		return fmt.Sprintf("waiting until there are %d nodes", wanted)
	}
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		switch {
		case !availableFor(pod, m.Spec.MinReadySeconds, seen.now):
			return fmt.Sprintf("waiting for node %s to be ready", pod.Name)
		case seen.readings[pod.Name].err != nil:
			return fmt.Sprintf("waiting for node %s to answer: %v", pod.Name, seen.readings[pod.Name].err)
		case stateOf(m, seen, pod) == resizing:
			return fmt.Sprintf("waiting for node %s to be resized", pod.Name)
		}
	}
	if warming(m, seen) {
		r := m.Status.Restart
		return fmt.Sprintf("waiting for node %s to warm up to %d %% of its hit rate of %d %%", r.Node, m.Spec.Warmup.HitRatePercent, r.HitRatePercent)
	}
	return ""
}

// warming reports whether the node that was restarted last has not reached its hit rate
// yet, and has time left to.
func warming(m *v1alpha1.Memcached, seen *observed) bool {
	r := m.Status.Restart
	if m.Spec.Warmup == nil || r == nil || r.Warm || r.HitRatePercent == 0 {
		return false
	}
	i := slices.IndexFunc(seen.nodes, func(pod corev1.Pod) bool { return pod.Name == r.Node })
	if i < 0 || string(seen.nodes[i].UID) == r.UID {
		return false // gone with a smaller size, or not restarted yet
	}
	timeout := time.Duration(m.Spec.Warmup.TimeoutSeconds) * time.Second
	if availableFor(&seen.nodes[i], m.Spec.Warmup.TimeoutSeconds, seen.now) || seen.now.After(r.StartTime.Add(2*timeout)) {
		return false
	}
	rate, known := seen.hitRates[r.Node]
	return !known || rate*100 < r.HitRatePercent*m.Spec.Warmup.HitRatePercent
}

// restartStatus tells about the last restart. It is what a warmup is measured by.
func restartStatus(m *v1alpha1.Memcached, seen *observed) *v1alpha1.MemcachedRestartStatus {
	if done := seen.done; done != nil && done.state == outdated {
		r := &v1alpha1.MemcachedRestartStatus{Node: done.pod.Name, UID: string(done.pod.UID), StartTime: metav1.NewTime(seen.now)}
		if reads := seen.readings[done.pod.Name].reads; reads.Gets >= warmupReads {
			r.HitRatePercent = int32(reads.Hits * 100 / reads.Gets)
		}
		return r
	}
	if m.Status.Restart == nil || m.Spec.Workload != v1alpha1.WorkloadStatefulSet {
		return nil
	}
	r := m.Status.Restart.DeepCopy()
	if i := slices.IndexFunc(seen.nodes, func(pod corev1.Pod) bool { return pod.Name == r.Node && string(pod.UID) != r.UID }); i >= 0 &&
		podstate.Ready(&seen.nodes[i]) && !warming(m, seen) {
		r.Warm = true
	}
	return r
}
