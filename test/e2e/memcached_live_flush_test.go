// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A flush goes from node to node with a pause, and once for each token, also when the
// operator is restarted on the way.
func TestMemcachedLiveFlush(t *testing.T) {
	t.Parallel()
	const pause = 10 * time.Second
	c := newLiveCache(t, 3, "memory: 64Mi", clientLoad{items: 9_000, batches: 30})
	before, items := c.pods(t), c.count(t)
	flush := fmt.Sprintf(`{"flush":{"token":"first","pauseSeconds":%.0f}}`, pause.Seconds())
	r := c.during(t, "flush", func() {
		c.patch(t, flush)
		c.waitFlushed(t, "cache-0")
		if left := c.count(t); left[0] != 0 || left[1] != items[1] || left[2] != items[2] {
			t.Errorf("after the first node was flushed the nodes have %v of %v items", left, items)
		}
		o := operators[0]
		kubectl(t, "delete", "pod", "-n", o.namespace, leader(t, o.namespace), "--wait=false")
		c.waitFlushed(t, "cache-0 cache-1")
		if left := c.count(t); left[0]+left[1] != 0 || left[2] != items[2] {
			t.Errorf("after the second node was flushed the nodes have %v of %v items", left, items)
		}
		c.ns.waitFor(t, "memcached/cache", "jsonpath={.status.flush.completionTime}")
		c.waitSeenFlushed(t)
	})
	if left := c.count(t); sum(left) != 0 {
		t.Errorf("after the flush the nodes have %v items", left)
	}
	if sum(r.Errors) > 0 {
		t.Errorf("requests failed: %v %q", r.Errors, r.FirstErrors)
	}
	c.assertUntouched(t, before)
	for i, node := range r.Nodes {
		if len(node.Flushes) != 1 {
			t.Fatalf("%s was flushed at %v, want once", node.Name, node.Flushes)
		}
		if i > 0 {
			waited := node.Flushes[0].Sub(r.Nodes[i-1].Flushes[0])
			t.Logf("%s was flushed %v after the one before", strings.SplitN(node.Name, ".", 2)[0], waited)
			if waited < pause-time.Second/2 { // the client looks every tenth of a second, when it can
				t.Errorf("%s was flushed %v after the one before, want %v", node.Name, waited, pause)
			}
		}
	}

	// Another token flushes again, and another pause with the same token does not.
	again := c.during(t, "another flush", func() {
		c.patch(t, `{"flush":{"token":"second","pauseSeconds":0}}`)
		c.ns.waitFor(t, "memcached/cache", "jsonpath={.status.flush.token}=second")
		c.ns.waitFor(t, "memcached/cache", "jsonpath={.status.flush.completionTime}")
		c.change(t, `{"flush":{"token":"second","pauseSeconds":1}}`)
		c.waitSeenFlushed(t)
	})
	for _, node := range again.Nodes {
		if len(node.Flushes) != 1 {
			t.Errorf("%s was flushed %d times for another token", node.Name, len(node.Flushes))
		}
	}
}

// waitSeenFlushed waits until the client has noticed: it looks every tenth of a second.
func (c *liveCache) waitSeenFlushed(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		for _, node := range c.report(t).Nodes {
			if len(node.Flushes) == 0 {
				return fmt.Errorf("%s has not been seen to be flushed", node.Name)
			}
		}
		return nil
	})
}

func (c *liveCache) waitFlushed(t *testing.T, nodes string) {
	t.Helper()
	eventually(t, func() error {
		if got := c.ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.flush.flushedNodes[*]}"); got != nodes {
			return fmt.Errorf("the nodes that were flushed are %q, want %q", got, nodes)
		}
		return nil
	})
}
