// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podstate reads the state of a pod as the scheduler and the kubelet tell it.
package podstate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Ready reports whether the pod can take traffic.
func Ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp.IsZero()
		}
	}
	return false
}

// Ended reports whether the pod will never run again.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// Trouble is what keeps the pod from running: a reason for programs and a message for
// people. A pod that simply takes its time has none, and the reason is empty.
func Trouble(pod *corev1.Pod) (reason, message string) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Reason, fmt.Sprintf("Pod %s: %s", pod.Name, c.Message)
		}
	}
	for i := range pod.Status.ContainerStatuses {
		c := &pod.Status.ContainerStatuses[i]
		waiting := c.State.Waiting
		switch {
		// These two are on the way to a running container; every other is an obstacle.
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing":
			return steady(c, waiting, pod.Name)
		case !c.Ready && hasFailed(c):
			// Between two crashes the container runs for a moment, and is not better.
			return steady(c, &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}, pod.Name)
		}
	}
	return "", ""
}

// lastEnd is how the container ended the last time, or nil.
func lastEnd(c *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if c.State.Terminated != nil {
		return c.State.Terminated
	}
	return c.LastTerminationState.Terminated
}

func hasFailed(c *corev1.ContainerStatus) bool {
	end := lastEnd(c)
	return end != nil && end.ExitCode != 0
}

// steady tells the cause of a wait and not its phases. The kubelet goes back and forth
// between trying and backing off, and counts the seconds; a status that followed it
// would be written again at every turn.
func steady(c *corev1.ContainerStatus, waiting *corev1.ContainerStateWaiting, pod string) (reason, message string) {
	reason, message = waiting.Reason, waiting.Message
	switch reason {
	case "ErrImagePull", "ImagePullBackOff":
		reason = "ImagePullBackOff"
		if _, attempt, ok := strings.Cut(message, ": ErrImagePull: "); ok {
			message = attempt
		}
	case "CrashLoopBackOff":
		message = fmt.Sprintf("container %s keeps ending", c.Name)
		if last := lastEnd(c); last != nil {
			message += fmt.Sprintf(", last with exit code %d (%s)", last.ExitCode, last.Reason)
		}
	}
	return reason, fmt.Sprintf("Pod %s: %s", pod, message)
}
