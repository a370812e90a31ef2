// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package podstate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/internal/podstate"
)

func waiting(reason, message string) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name:  "c",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func condition(conditionType corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodStatus {
	return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: conditionType, Status: status, Reason: reason, Message: "m"}}}
}

func TestTrouble(t *testing.T) {
	crashing := waiting("CrashLoopBackOff", "back-off")
	crashing.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 64, Reason: "Error"}
	again := corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name:                 "c",
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		LastTerminationState: crashing.ContainerStatuses[0].LastTerminationState,
	}}}
	recovered := *again.DeepCopy()
	recovered.ContainerStatuses[0].Ready = true
	tests := []struct {
		name            string
		status          corev1.PodStatus
		reason, message string
	}{
		{"new", corev1.PodStatus{}, "", ""},
		{"starting", waiting("ContainerCreating", ""), "", ""},
		{"initializing", waiting("PodInitializing", ""), "", ""},
		{"image", waiting("ErrImagePull", "no such image"), "ImagePullBackOff", "Pod p: no such image"},
		{"image, later", waiting("ImagePullBackOff", `Back-off pulling image "i": ErrImagePull: no such image`), "ImagePullBackOff", "Pod p: no such image"},
		{"crash", crashing, "CrashLoopBackOff", "Pod p: container c keeps ending, last with exit code 64 (Error)"},
		{"crash, tried again", again, "CrashLoopBackOff", "Pod p: container c keeps ending, last with exit code 64 (Error)"},
		{"crash, recovered", recovered, "", ""},
		{"configuration", waiting("CreateContainerConfigError", "no secret"), "CreateContainerConfigError", "Pod p: no secret"},
		{"unschedulable", condition(corev1.PodScheduled, corev1.ConditionFalse, "Unschedulable"), "Unschedulable", "Pod p: m"},
		{"gated", condition(corev1.PodScheduled, corev1.ConditionFalse, "SchedulingGated"), "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reason, message := podstate.Trouble(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Status: test.status})
			if reason != test.reason || message != test.message {
				t.Errorf("%q %q, want %q %q", reason, message, test.reason, test.message)
			}
		})
	}
}

func TestReady(t *testing.T) {
	pod := &corev1.Pod{Status: condition(corev1.PodReady, corev1.ConditionTrue, "")}
	if !podstate.Ready(pod) {
		t.Error("a ready pod")
	}
	pod.DeletionTimestamp = &metav1.Time{}
	*pod.DeletionTimestamp = metav1.Now()
	if podstate.Ready(pod) {
		t.Error("a pod that goes is not ready")
	}
	if podstate.Ready(&corev1.Pod{}) || podstate.Ready(&corev1.Pod{Status: condition(corev1.PodReady, corev1.ConditionFalse, "")}) {
		t.Error("a pod that is not ready")
	}
}
