// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestPace(t *testing.T) {
	var p Pace
	key, other := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	now := time.Now()
	if got := p.Wait(key, now); got != 0 {
		t.Errorf("the first write waits for %v", got)
	}
	p.Wrote(key, now)
	if got := p.Wait(key, now.Add(2*time.Second)); got != interval-2*time.Second {
		t.Errorf("the second write waits for %v", got)
	}
	if got := p.Wait(key, now.Add(time.Minute)); got != 0 {
		t.Errorf("a late write waits for %v", got)
	}
	if got := p.Wait(other, now); got != 0 {
		t.Errorf("another resource waits for %v", got)
	}
	p.Forget(key)
	if got := p.Wait(key, now); got != 0 {
		t.Errorf("a new resource of an old name waits for %v", got)
	}
}

func TestSameState(t *testing.T) {
	base := metav1.Condition{Type: "A", Status: metav1.ConditionTrue, Reason: "r", Message: "1 of 3", ObservedGeneration: 1}
	for name, test := range map[string]struct {
		change func(*metav1.Condition)
		want   bool
	}{
		"nothing":    {func(*metav1.Condition) {}, true},
		"message":    {func(c *metav1.Condition) { c.Message = "2 of 3" }, true},
		"status":     {func(c *metav1.Condition) { c.Status = metav1.ConditionFalse }, false},
		"reason":     {func(c *metav1.Condition) { c.Reason = "s" }, false},
		"generation": {func(c *metav1.Condition) { c.ObservedGeneration = 2 }, false},
		"type":       {func(c *metav1.Condition) { c.Type = "B" }, false},
	} {
		after := base
		test.change(&after)
		if got := SameState([]metav1.Condition{base}, []metav1.Condition{after}); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if SameState(nil, []metav1.Condition{base}) {
		t.Error("a new condition is no change")
	}
}
