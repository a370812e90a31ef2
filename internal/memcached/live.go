// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/node"
	"github.com/example/web-operators/internal/podstate"
)

// How does the memory of a running node change?
//
// To grow, its pod is resized first, and memcached is told its new limit when the
// kubelet has confirmed it; to shrink, memcached is told and gives back pages first,
// because the kubelet refuses a limit below what is used. The annotation that a
// restarted container takes its size from changes at the moment from which both sizes
// are safe. Every step is found by looking at the pod and asking memcached, so an
// operator that stops in between goes on where it was.

// nodeState is what a node of a StatefulSet needs next. While a Deployment hands over to
// it, pods of both are there.
type nodeState int

const (
	upToDate  nodeState = iota
	outdated            // a restart
	growing             // its pod has to grow before memcached may
	resizing            // the kubelet is at it
	adjusting           // memcached has another limit, or has not given back its pages
	shrinking           // its pod is larger than it has to be
	silent              // it is not ready, or does not answer
)

// reading is what a node said of itself.
type reading struct {
	memory node.Memory
	reads  node.Reads
	err    error
	// verified means that it was not asked, because it has said before that it has
	// the wanted memory.
	verified bool
}

// stateOf is what a node needs next.
func stateOf(m *v1alpha1.Memcached, seen *observed, pod *corev1.Pod) nodeState {
	wanted, has := resourcesOf(m), resourcesIn(pod)
	memory := memoryMebibytes(m)
	fits := hasMemory(m, pod)
	same := equality.Semantic.DeepEqual(resized(has, wanted), has)
	r, answered := seen.readings[pod.Name]
	switch {
	case needsRestart(m, seen, pod):
		return outdated
	case !podstate.Ready(pod):
		return silent
	case has.Limits.Memory().Cmp(*wanted.Limits.Memory()) < 0:
		return growing
	case isResizing(pod):
		return resizing
	case !answered || r.err != nil:
		return silent
	case !fits, !r.verified && (r.memory.Limit != memory*mebibyte || r.memory.Allocated > memory*mebibyte):
		return adjusting
	case !same:
		return shrinking
	default:
		return upToDate
	}
}

// needsRestart reports whether a node cannot become what the spec says while it runs.
func needsRestart(m *v1alpha1.Memcached, seen *observed, pod *corev1.Pod) bool {
	has := resourcesIn(pod)
	after := resized(has, resourcesOf(m))
	switch {
	case len(changedSettings(m, pod)) > 0:
		return true
	case !seen.resizable:
		return !hasMemory(m, pod) || !equality.Semantic.DeepEqual(after, has)
	default: // the API server refuses to change the quality of service
		return isGuaranteed(has) != isGuaranteed(after) && othersGuaranteed(pod)
	}
}

// hasMemory reports whether a restarted container would have the wanted item memory.
func hasMemory(m *v1alpha1.Memcached, pod *corev1.Pod) bool {
	return pod.Annotations[annotationMemory] == strconv.FormatInt(memoryMebibytes(m), 10)
}

// resized are the resources of a pod after a change: what it has from others stays.
func resized(has, wanted corev1.ResourceRequirements) corev1.ResourceRequirements {
	after := *has.DeepCopy()
	if after.Limits == nil {
		after.Limits = corev1.ResourceList{}
	}
	if after.Requests == nil {
		after.Requests = corev1.ResourceList{}
	}
	maps.Copy(after.Limits, wanted.Limits)
	maps.Copy(after.Requests, wanted.Requests)
	return after
}

// isGuaranteed is true of a container that gets all that it may use.
func isGuaranteed(r corev1.ResourceRequirements) bool {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		limit, limited := r.Limits[name]
		request, requested := r.Requests[name]
		if !limited || requested && request.Cmp(limit) != 0 {
			return false
		}
	}
	return true
}

// othersGuaranteed reports whether memcached alone decides about its pod's quality of
// service.
func othersGuaranteed(pod *corev1.Pod) bool {
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			if containers[i].Name != containerName && !isGuaranteed(containers[i].Resources) {
				return false
			}
		}
	}
	return true
}

// resourcesIn are those of a pod's memcached container.
func resourcesIn(pod *corev1.Pod) corev1.ResourceRequirements {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; c.Name == containerName {
			return c.Resources
		}
	}
	return corev1.ResourceRequirements{}
}

// isResizing reports whether the kubelet has not given the pod what its spec says.
func isResizing(pod *corev1.Pod) bool {
	return unshrunk(pod) == nil && (resizeTrouble(pod) != nil || limitGiven(pod) != 0)
}

// limitGiven compares the memory limit that the kubelet has given a node with that of
// its pod's spec: it is above 0 if it has more.
func limitGiven(pod *corev1.Pod) int {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name == containerName && status.Resources != nil {
			wanted := resourcesIn(pod).Limits[corev1.ResourceMemory]
			return status.Resources.Limits.Memory().Cmp(wanted)
		}
	}
	return 0
}

// unshrunk is why a pod stays larger than it has to be, or nil. It is no reason to wait:
// memcached itself has given the memory back. A kubelet of 1.36 never shrinks a pod
// whose container was restarted once, because the dead one tells no memory usage.
func unshrunk(pod *corev1.Pod) *cause {
	if c := resizeTrouble(pod); c != nil && c.reason != "ResizeInProgress" && limitGiven(pod) > 0 {
		return c
	}
	return nil
}

// resizeTrouble is what the kubelet says about a resize that it has not done, or nil.
func resizeTrouble(pod *corev1.Pod) *cause {
	for _, c := range pod.Status.Conditions {
		if (c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress) && c.Status == corev1.ConditionTrue {
			reason := c.Reason
			if reason == "" {
				reason = "InProgress"
			}
			return &cause{"Resize" + reason, fmt.Sprintf("Pod %s: %s", pod.Name, orNone(c.Message))}
		}
	}
	return nil
}

// needsReading reports whether a node has to be asked. In the steady state none has.
func needsReading(m *v1alpha1.Memcached, seen *observed, pod *corev1.Pod, verified bool) bool {
	return m.Spec.Workload == v1alpha1.WorkloadStatefulSet && podstate.Ready(pod) &&
		(!verified || m.Spec.Warmup != nil && m.Status.Restart != nil || needsRestart(m, seen, pod))
}

// step is the next thing to do about one node.
type step struct {
	state nodeState // adjusting, growing, shrinking or outdated
	pod   *corev1.Pod
}

// nextStep is what to do about the running nodes of a StatefulSet now, or nil. One node
// is changed at a time; one that the kubelet keeps waiting does not hold the others up.
func nextStep(m *v1alpha1.Memcached, seen *observed) *step {
	set := seen.statefulSet
	if m.Spec.Workload != v1alpha1.WorkloadStatefulSet || !ours(m, set) || set.Status.ObservedGeneration < set.Generation {
		return nil // a pod that is restarted now could come back as it was
	}
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		if !metav1.IsControlledBy(pod, set) {
			return nil // the other workload's: first these have to go
		}
		switch state := stateOf(m, seen, pod); state {
		case growing, adjusting, shrinking:
			return &step{state, pod}
		case upToDate, outdated, resizing, silent:
		}
	}
	if pod := nextRestart(m, seen); pod != nil {
		return &step{outdated, pod}
	}
	return nil
}

// updatedNodes is how many nodes are what the spec says.
func updatedNodes(m *v1alpha1.Memcached, seen *observed) int32 {
	n := int32(0)
	for i := range seen.nodes {
		if pod := &seen.nodes[i]; seen.statefulSet != nil && metav1.IsControlledBy(pod, seen.statefulSet) && stateOf(m, seen, pod) == upToDate {
			n++
		}
	}
	return n
}

// changeMessage tells what is being done to the running nodes, and how far it is. It is
// empty if nothing is.
func changeMessage(m *v1alpha1.Memcached, seen *observed) string {
	if m.Spec.Workload != v1alpha1.WorkloadStatefulSet {
		return ""
	}
	var restarts, changes []string
	live, from := 0, ""
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		switch stateOf(m, seen, pod) {
		case outdated:
			restarts = append(restarts, pod.Name)
			changes = changedSettings(m, pod)
		case growing, resizing, adjusting, shrinking:
			live++
			if !hasMemory(m, pod) {
				from = pod.Annotations[annotationMemory]
			}
		case upToDate, silent:
		}
	}
	wanted := wantedNodes(m, seen)
	var messages []string
	if len(restarts) > 0 {
		what := strings.Join(changes, ", ")
		switch {
		case what == "" && !seen.resizable:
			what = "memory and resources, which this API server cannot change in a running pod (Kubernetes can since 1.33)"
		case what == "":
			what = "resources, with which the pods' quality of service changes"
		}
		messages = append(messages, fmt.Sprintf("%s: restart, one node at a time, %d of %d to go", what, len(restarts), wanted))
		if reason := restartWaits(m, seen); reason != "" {
			messages = append(messages, reason)
		}
	}
	if live > 0 {
		what := "resources"
		if from != "" {
			what = fmt.Sprintf("memory %sMi → %dMi", from, memoryMebibytes(m))
		}
		messages = append(messages, fmt.Sprintf("%s: live, %d of %d nodes to go", what, live, wanted))
	}
	return strings.Join(messages, "; ")
}

// resizeCause is the first thing that a kubelet says about a resize, or nil. One that
// is simply on its way is none.
func resizeCause(seen *observed) *cause {
	for i := range seen.nodes {
		if c := resizeTrouble(&seen.nodes[i]); c != nil && c.reason != "ResizeInProgress" && unshrunk(&seen.nodes[i]) == nil {
			return c
		}
	}
	return nil
}

// availableFor reports whether a node has been ready for a time.
func availableFor(pod *corev1.Pod, seconds int32, now time.Time) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return podstate.Ready(pod) && !now.Before(c.LastTransitionTime.Add(time.Duration(seconds)*time.Second))
		}
	}
	return false
}

// nextLook is when to look again at nodes that nothing tells about, or 0.
func nextLook(m *v1alpha1.Memcached, seen *observed) time.Duration {
	var look time.Duration
	if _, due := nextFlush(m, seen); !due.IsZero() {
		look = soonest(look, due.Sub(seen.now))
	}
	if seen.infeasible != nil {
		look = soonest(look, time.Minute)
	}
	if seen.flushed != "" || seen.done != nil && seen.done.state == adjusting {
		look = soonest(look, time.Second)
	}
	if m.Spec.Workload != v1alpha1.WorkloadStatefulSet {
		return look
	}
	if warming(m, seen) {
		look = soonest(look, warmupLook)
	}
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		if seen.readings[pod.Name].err != nil {
			look = soonest(look, 5*time.Second)
		}
		if podstate.Ready(pod) && !availableFor(pod, m.Spec.MinReadySeconds, seen.now) {
			look = soonest(look, time.Second)
		}
	}
	return look
}

// soonest is the shorter of two times to wait, of which 0 is none.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
