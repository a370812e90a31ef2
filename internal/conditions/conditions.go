// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conditions writes status conditions, and tells about their transitions in
// events.
package conditions

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonAsExpected is the reason of a Degraded condition that is false.
const ReasonAsExpected = "AsExpected"

// maxMessage is the limit of the Condition type. A status with a longer message is
// refused as a whole, so that the longest errors would never be told.
const maxMessage = 32768

// Set adds or changes one condition. The time of the last transition changes only
// if the status does.
func Set(conditions *[]metav1.Condition, generation int64, conditionType string, status bool, reason, message string) {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: generation,
		Reason:             reason,
		Message:            message[:min(len(message), maxMessage)],
	}
	if status {
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(conditions, condition)
}
