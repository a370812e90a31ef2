// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/podstate"
)

// nextFlush is the node to flush now, or nil, and when to look again.
func nextFlush(m *v1alpha1.Memcached, seen *observed) (pod *corev1.Pod, next time.Time) {
	if m.Spec.Flush == nil || !m.DeletionTimestamp.IsZero() {
		return nil, time.Time{}
	}
	last := flushOf(m)
	if !last.CompletionTime.IsZero() {
		return nil, time.Time{}
	}
	pause := time.Duration(ptr.Deref(m.Spec.Flush.PauseSeconds, 0)) * time.Second
	if pause > 0 {
		pause += time.Second // times in a status have no fractions
	}
	if due := last.LastFlushTime.Add(pause); !last.LastFlushTime.IsZero() && seen.now.Before(due) {
		return nil, due
	}
	for i := range seen.nodes {
		if pod := &seen.nodes[i]; podstate.Ready(pod) && !slices.Contains(last.FlushedNodes, pod.Name) {
			return pod, time.Time{}
		}
	}
	return nil, time.Time{}
}

// flushOf is how far the flush is that the spec asks for.
func flushOf(m *v1alpha1.Memcached) v1alpha1.MemcachedFlushStatus {
	if m.Status.Flush == nil || m.Status.Flush.Token != m.Spec.Flush.Token {
		return v1alpha1.MemcachedFlushStatus{Token: m.Spec.Flush.Token}
	}
	return *m.Status.Flush.DeepCopy()
}

// flushStatus tells how far it is after a node was flushed, or none. It is done when no
// node is left; those that come later are empty.
func flushStatus(m *v1alpha1.Memcached, seen *observed) *v1alpha1.MemcachedFlushStatus {
	if m.Spec.Flush == nil {
		return m.Status.Flush
	}
	s := flushOf(m)
	if seen.flushed != "" {
		s.FlushedNodes = append(s.FlushedNodes, seen.flushed)
		s.LastFlushTime = metav1.NewTime(seen.now)
	}
	left := slices.ContainsFunc(seen.nodes, func(pod corev1.Pod) bool { return !slices.Contains(s.FlushedNodes, pod.Name) })
	if !left && len(seen.nodes) > 0 && s.CompletionTime.IsZero() {
		s.CompletionTime = metav1.NewTime(seen.now)
	}
	return &s
}
