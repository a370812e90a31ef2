// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the limit of the Event type; an event with a longer note is refused.
const maxNote = 1024

// action is the required field of an event that says what was done: the status was
// written. The reason says why.
const action = "UpdateStatus"

// Recorder is the part of an event recorder that is used here.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

var _ Recorder = events.EventRecorder(nil)

// Record sends an event for every condition that has changed in a way worth telling.
// Call it after the status has been stored: an event about a state that was never
// written would be sent again and again by the retries.
//
// bad is the type of the condition that is bad when it is true; its events are warnings.
func Record(recorder Recorder, object runtime.Object, bad string, before, after []metav1.Condition) {
	told := map[string]bool{}
	for _, condition := range after {
		if !worthTelling(meta.FindStatusCondition(before, condition.Type), condition) || told[condition.Reason] {
			continue
		}
		told[condition.Reason] = true // two conditions with one cause are one event
		eventType := corev1.EventTypeNormal
		if condition.Type == bad && condition.Status == metav1.ConditionTrue {
			eventType = corev1.EventTypeWarning
		}
		recorder.Eventf(object, nil, eventType, condition.Reason, action, "%s",
			condition.Message[:min(len(condition.Message), maxNote)])
	}
}

// worthTelling is true for a change of status and for a new cause of a true one. A
// condition that starts as false has not changed anything.
func worthTelling(before *metav1.Condition, after metav1.Condition) bool {
	if before == nil {
		return after.Status == metav1.ConditionTrue
	}
	return before.Status != after.Status || after.Status == metav1.ConditionTrue && before.Reason != after.Reason
}
