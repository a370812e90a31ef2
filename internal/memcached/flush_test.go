// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// flush asks for one with the token a.
func flush(pause int32) func(*v1alpha1.MemcachedSpec) {
	return func(s *v1alpha1.MemcachedSpec) {
		s.Flush = &v1alpha1.MemcachedFlush{Token: "a", PauseSeconds: ptr.To(pause)}
	}
}

// lookAndFlush is one reconcile as far as a flush goes. It returns the node that was flushed.
func lookAndFlush(m *v1alpha1.Memcached, seen *observed) string {
	seen.flushed = ""
	if pod, _ := nextFlush(m, seen); pod != nil {
		seen.flushed = pod.Name
	}
	m.Status.Flush = flushStatus(m, seen)
	if s := m.Status.Flush; s != nil { // as it comes back from the API server
		s.LastFlushTime.Time = s.LastFlushTime.Truncate(time.Second)
	}
	return seen.flushed
}

func TestFlushOneAfterTheOther(t *testing.T) {
	m := sample(flush(10))
	seen := world(m, 3, 3)
	begin := testTime.Add(900 * time.Millisecond)
	var order []string
	var last time.Time
	for seen.now = begin; seen.now.Before(begin.Add(time.Minute)); seen.now = seen.now.Add(100 * time.Millisecond) {
		if name := lookAndFlush(m, seen); name != "" {
			if !last.IsZero() && (seen.now.Sub(last) < 10*time.Second || seen.now.Sub(last) > 12*time.Second) {
				t.Errorf("%s comes %v after the last one", name, seen.now.Sub(last))
			}
			order, last = append(order, name), seen.now
		}
		if done := !m.Status.Flush.CompletionTime.IsZero(); done != (len(order) == 3) {
			t.Fatalf("done is %t after %q", done, order)
		}
		if _, due := nextFlush(m, seen); due.IsZero() != (len(order) == 3) || !due.IsZero() && !due.After(seen.now) {
			t.Fatalf("after %q the next look is at %v", order, due)
		}
	}
	if got := strings.Join(order, " "); got != "sample-0 sample-1 sample-2" || len(m.Status.Flush.FlushedNodes) != 3 {
		t.Errorf("%s, %+v", got, m.Status.Flush)
	}

	// Nodes that come later are empty.
	seen.nodes = append(seen.nodes, *seen.nodes[0].DeepCopy())
	seen.nodes[3].Name = "sample-3"
	if name := lookAndFlush(m, seen); name != "" {
		t.Errorf("%s is flushed", name)
	}

	// Another token begins anew, at once.
	m.Spec.Flush.Token = "b"
	if name := lookAndFlush(m, seen); name != "sample-0" || m.Status.Flush.Token != "b" || len(m.Status.Flush.FlushedNodes) != 1 || !m.Status.Flush.CompletionTime.IsZero() {
		t.Errorf("%s, %+v", name, m.Status.Flush)
	}
	// One that comes in the middle takes the place of the last.
	seen.now = seen.now.Add(time.Second)
	m.Spec.Flush.Token = "c"
	if name := lookAndFlush(m, seen); name != "sample-0" || m.Status.Flush.Token != "c" {
		t.Errorf("%s, %+v", name, m.Status.Flush)
	}
	// What was done is told also when the wish is gone.
	m.Spec.Flush = nil
	seen.now = seen.now.Add(time.Hour)
	if name := lookAndFlush(m, seen); name != "" || m.Status.Flush == nil || m.Status.Flush.Token != "c" {
		t.Errorf("%s, %+v", name, m.Status.Flush)
	}
}

func TestNextFlush(t *testing.T) {
	for _, test := range []struct {
		name   string
		m      *v1alpha1.Memcached
		change func(*v1alpha1.Memcached, *observed)
		want   string
	}{
		{"none asked for", sample(), func(*v1alpha1.Memcached, *observed) {}, ""},
		{"the first", sample(flush(0)), func(*v1alpha1.Memcached, *observed) {}, "sample-0"},
		{"without a pause", sample(flush(0)), func(m *v1alpha1.Memcached, _ *observed) {
			m.Status.Flush = &v1alpha1.MemcachedFlushStatus{Token: "a", FlushedNodes: []string{"sample-0"}, LastFlushTime: metav1.NewTime(testTime)}
		}, "sample-1"},
		{"one that is down is left for later", sample(flush(0)), func(_ *v1alpha1.Memcached, seen *observed) {
			seen.nodes[0].Status.Conditions[0].Status = corev1.ConditionFalse
		}, "sample-1"},
		{"being deleted", sample(flush(0)), func(m *v1alpha1.Memcached, _ *observed) { m.DeletionTimestamp = ptr.To(metav1.Now()) }, ""},
		{"done", sample(flush(0)), func(m *v1alpha1.Memcached, _ *observed) {
			m.Status.Flush = &v1alpha1.MemcachedFlushStatus{Token: "a", CompletionTime: metav1.NewTime(testTime)}
		}, ""},
		{"no nodes", sample(flush(0)), func(_ *v1alpha1.Memcached, seen *observed) { seen.nodes = nil }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, 3, 3)
			seen.now = testTime
			test.change(test.m, seen)
			pod, _ := nextFlush(test.m, seen)
			if got := ptr.Deref(pod, corev1.Pod{}).Name; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A flush is not done while a node that is down may still have its items.
func TestFlushWaitsForANodeThatIsDown(t *testing.T) {
	m := sample(flush(0))
	seen := world(m, 2, 1)
	seen.now = testTime
	if got := lookAndFlush(m, seen) + lookAndFlush(m, seen); got != "sample-0" || !m.Status.Flush.CompletionTime.IsZero() {
		t.Errorf("%s, %+v", got, m.Status.Flush)
	}
	seen.nodes[1].Status.Conditions[0].Status = corev1.ConditionTrue
	if got := lookAndFlush(m, seen); got != "sample-1" || m.Status.Flush.CompletionTime.IsZero() {
		t.Errorf("%s, %+v", got, m.Status.Flush)
	}
}
