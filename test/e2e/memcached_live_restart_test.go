// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// What cannot be changed in a running node restarts the nodes one after the other, each
// when the one before is warm: there are two nodes and their items at every moment.
func TestMemcachedLiveRestart(t *testing.T) {
	t.Parallel()
	const warm = 90
	c := newLiveCache(t, 3, fmt.Sprintf("threads: 4, warmup: {hitRatePercent: %d, timeoutSeconds: 300}", warm),
		clientLoad{items: 100_000, batches: 100, refill: true})
	share := slices.Max(c.count(t))
	restarted := c.during(t, "threads 4 → 8", func() { c.change(t, `{"threads":8}`) })
	if restarted.LowestUp < 2 {
		t.Errorf("only %d nodes were up at a time", restarted.LowestUp)
	}
	if two := (c.items - share) * warm / 100; restarted.LowestItems < two {
		t.Errorf("the nodes that were up had only %d items at a time, want %d", restarted.LowestItems, two)
	}
	for _, node := range restarted.Nodes {
		if node.Threads != 8 || node.Downs != 1 {
			t.Errorf("%s has %d threads and was down %d times", node.Name, node.Threads, node.Downs)
		}
	}
	c.plans.assert(t, "threads 4 → 8: restart, one node at a time, 3 of 3 to go")
	for _, node := range []string{"cache-2", "cache-1"} {
		c.plans.assert(t, fmt.Sprintf("waiting for node %s to warm up to %d %% of its hit rate of 100 %%", node, warm))
	}
}

// A node that does not warm up holds the restart of the next one up for the given time,
// and no longer.
func TestMemcachedLiveWarmupTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 20 * time.Second
	c := newLiveCache(t, 2, fmt.Sprintf("warmup: {hitRatePercent: 100, timeoutSeconds: %.0f}", timeout.Seconds()), clientLoad{items: 3_000, batches: 30})
	c.during(t, "threads 4 → 2", func() { c.change(t, `{"threads":2}`) })
	c.plans.assert(t, "waiting for node cache-1 to warm up to 100 % of its hit rate of 100 %")
	ready := c.time(t, "cache-1", `.status.conditions[?(@.type=="Ready")].lastTransitionTime`)
	next := c.time(t, "cache-0", ".metadata.creationTimestamp")
	t.Logf("cache-0 came %v after cache-1 was ready", next.Sub(ready))
	if waited := next.Sub(ready); waited < timeout {
		t.Errorf("cache-0 was restarted %v after cache-1 was ready, want at least %v", waited, timeout)
	}
}

// time reads a time of a pod.
func (c *liveCache) time(t *testing.T, pod, field string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, c.ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={"+field+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A change that breaks a node stops there, and is repaired by the next one.
func TestMemcachedLiveBadImage(t *testing.T) {
	t.Parallel()
	const missing = "example.com/missing:1"
	c := newLiveCache(t, 3, "memory: 64Mi", clientLoad{items: 9_000, batches: 30})
	before, items := c.pods(t), c.count(t)
	r := c.during(t, "an image that does not exist, and back", func() {
		c.patch(t, `{"image":"`+missing+`"}`)
		c.ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=ImagePullBackOff`)
		if said := condition(t, c.ns, "Degraded", "message"); !strings.Contains(said, "cache-2") || !strings.Contains(said, missing) {
			t.Errorf("Degraded says %q", said)
		}
		if plan := condition(t, c.ns, "Progressing", "message"); !strings.Contains(plan, "image none → "+missing+": restart, one node at a time, 2 of 3 to go") {
			t.Errorf("the plan is %q", plan)
		}
		c.change(t, `{"image":null}`)
	})
	if r.LowestUp < 2 {
		t.Errorf("only %d nodes were up at a time", r.LowestUp)
	}
	if r.Errors[0]+r.Errors[1] > 0 {
		t.Errorf("requests to nodes that were not restarted failed: %v %q", r.Errors, r.FirstErrors)
	}
	if left := c.count(t); !slices.Equal(left[:2], items[:2]) {
		t.Errorf("the nodes had %v items, and have %v", items, left)
	}
	if now := c.pods(t); !slices.Equal(now[:2], before[:2]) || now[2] == before[2] {
		t.Errorf("the pods are\n%q, and they were\n%q", now, before)
	}
	c.ns.waitFor(t, "memcached/cache", "condition=Degraded=False")
}
