// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

const (
	// contestLimit is how many times a selector that somebody changes is put back at
	// once. More often it is another controller that does it, and two that put
	// things back at once switch the traffic many times a second.
	contestLimit = 3
	// contestMemory is for how long it is held against them.
	contestMemory = 5 * time.Minute
	// firstTruce is how long the operator then keeps still; each time twice as long.
	firstTruce   = 15 * time.Second
	longestTruce = 5 * time.Minute
)

// contested reports whether somebody has changed the selector after a switch.
func contested(m *v1alpha1.MaintPage, seen *observed, d demand) bool {
	if seen.service == nil || lastSide(m.Status.History) != d.side || stageOf(m, m.Status.History, seen) < settling {
		return false
	}
	if len(m.Status.History) == 0 && m.Status.MaintPublishStatus == "" {
		return false // the Service is new to us
	}
	current, known := currentSide(m, seen)
	return !known || current != d.side
}

// contests remembers who changed what we have set. It is kept in the process only: an
// operator that starts anew gives the others another chance. Its zero value is ready
// for use.
type contests struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*contest
}

type contest struct {
	last  time.Time
	times int
	truce time.Time
	// due means that a truce was made and nothing has been tried since.
	due bool
}

// truce is until when a selector that is not ours is to be left alone. Call it each
// time that one is seen.
func (c *contests) truce(key types.NamespacedName, now time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]*contest{}
	}
	one := c.known[key]
	if one == nil || now.Sub(one.last) > contestMemory && now.Sub(one.truce) > contestMemory {
		one = &contest{}
		c.known[key] = one
	}
	if now.Before(one.truce) {
		return one.truce
	}
	one.last = now
	if one.due {
		one.due = false // what is seen was there before the truce: one more attempt
		return time.Time{}
	}
	one.times++
	if one.times > contestLimit {
		length := min(longestTruce, firstTruce<<min(one.times-contestLimit-1, 8))
		one.truce, one.due = now.Add(length), true
		return one.truce
	}
	return time.Time{}
}

// forget says that a resource is gone.
func (c *contests) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, key)
}
