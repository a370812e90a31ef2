// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// interval is the least time between two writes that tell of progress only. A person
// who watches sees it move; an API server that has a hundred resources rolled out at
// a time does not get a write for every pod that becomes ready.
const interval = 5 * time.Second

// Pace remembers when the status of which resource was last written. It may be used
// by many goroutines, and its zero value is ready for use.
type Pace struct {
	mu   sync.Mutex
	last map[types.NamespacedName]time.Time
}

// Wait is how long a write that tells of progress only is to wait.
func (p *Pace) Wait(key types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last[key]
	if !ok {
		return 0
	}
	return max(0, interval-now.Sub(last))
}

// Wrote says that a status was written.
func (p *Pace) Wrote(key types.NamespacedName, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[types.NamespacedName]time.Time{}
	}
	p.last[key] = now
}

// Forget says that a resource is gone.
func (p *Pace) Forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, key)
}

// SameState reports whether two lists of conditions differ in their messages at most.
func SameState(before, after []metav1.Condition) bool {
	if len(before) != len(after) {
		return false
	}
	for _, a := range after {
		b := meta.FindStatusCondition(before, a.Type)
		if b == nil || b.Status != a.Status || b.Reason != a.Reason || b.ObservedGeneration != a.ObservedGeneration {
			return false
		}
	}
	return true
}
