// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/web-operators/internal/conditions"
)

type recorder struct{ events []string }

func (r *recorder) Eventf(_, _ runtime.Object, eventType, reason, action, note string, args ...any) {
	if action == "" {
		panic("the API server refuses an event without an action")
	}
	r.events = append(r.events, eventType+" "+reason+": "+fmt.Sprintf(note, args...))
}

func condition(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: "100% " + reason}
}

func TestRecord(t *testing.T) {
	available := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return condition("Available", status, reason)
	}
	degraded := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return condition("Degraded", status, reason)
	}
	type list = []metav1.Condition
	tests := []struct {
		name          string
		before, after list
		want          []string
	}{
		{"first, nothing true", nil, list{available("False", "Creating"), degraded("False", "AsExpected")}, nil},
		{"first, something true", nil, list{available("True", "Ready")}, []string{"Normal Ready: 100% Ready"}},
		{"same", list{available("True", "Ready")}, list{available("True", "Ready")}, nil},
		{"lost", list{available("True", "Ready")}, list{available("False", "NotReady")}, []string{"Normal NotReady: 100% NotReady"}},
		{"another reason why not", list{available("False", "A")}, list{available("False", "B")}, nil},
		{"degraded", list{degraded("False", "AsExpected")}, list{degraded("True", "Quota")}, []string{"Warning Quota: 100% Quota"}},
		{"otherwise degraded", list{degraded("True", "A")}, list{degraded("True", "B")}, []string{"Warning B: 100% B"}},
		{"recovered", list{degraded("True", "A")}, list{degraded("False", "AsExpected")}, []string{"Normal AsExpected: 100% AsExpected"}},
		{"one cause, two conditions", nil, list{available("True", "Ready"), condition("Progressing", "True", "Ready")}, []string{"Normal Ready: 100% Ready"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{}
			conditions.Record(r, nil, "Degraded", test.before, test.after)
			if !slices.Equal(r.events, test.want) {
				t.Errorf("%q, want %q", r.events, test.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	var list []metav1.Condition
	conditions.Set(&list, 1, "Available", false, "A", "a")
	first := list[0]
	conditions.Set(&list, 2, "Available", false, "B", strings.Repeat("x", 40_000))
	if list[0].LastTransitionTime != first.LastTransitionTime || list[0].ObservedGeneration != 2 || list[0].Reason != "B" {
		t.Errorf("%v", list[0])
	}
	if len(list[0].Message) != 32768 {
		t.Error("the API server refuses a longer message")
	}
	conditions.Set(&list, 2, "Available", true, "C", "c")
	if list[0].Status != metav1.ConditionTrue || len(list) != 1 {
		t.Errorf("%v", list)
	}
}
