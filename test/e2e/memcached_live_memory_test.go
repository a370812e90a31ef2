// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Memory grows and shrinks in running nodes, and nodes come and go, while a client reads
// and writes.
func TestMemcachedLiveMemory(t *testing.T) {
	t.Parallel()
	// With -A a node can be told to end, as if it had crashed.
	c := newLiveCache(t, 3, `memory: 64Mi, extraArgs: ["-A"]`, clientLoad{items: 100_000, batches: 30})
	before := c.pods(t)
	c.assertPodMemory(t, "120Mi")

	grown := c.during(t, "memory 64Mi → 256Mi", func() { c.change(t, `{"memory":"256Mi"}`) })
	c.assertServed(t, grown)
	c.assertItems(t)
	c.assertUntouched(t, before)
	c.assertPodMemory(t, "336Mi")
	for _, node := range grown.Nodes {
		if !slices.Equal(node.Limits, []int{64 * mebibyte, 256 * mebibyte}) {
			t.Errorf("the limits of %s were %v", node.Name, node.Limits)
		}
	}
	c.plans.assert(t, "memory 64Mi → 256Mi: live")

	scaled := c.during(t, "size 3 → 5 → 3", func() {
		for _, size := range []string{"5", "3"} {
			c.ns.kubectl(t, "scale", "memcached/cache", "--replicas="+size)
			c.ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}="+size+"/"+size)
		}
	})
	c.assertServed(t, scaled)
	c.assertItems(t)
	c.ns.waitFor(t, "memcached/cache", "condition=Available")
	c.assertUntouched(t, before)

	c.assertShrinks(t)
	c.change(t, `{"memory":"128Mi"}`)
	c.assertCrashedNodeHasNewSize(t, 128*mebibyte)

	// A kubelet of 1.36 may refuse to shrink a pod whose container was restarted. memcached
	// gives its memory back all the same, and what is left to do is told.
	c.change(t, `{"memory":"96Mi"}`)
	limit := c.ns.kubectl(t, "get", "pod", "cache-1", "-o", "jsonpath={.status.containerStatuses[0].resources.limits.memory}")
	said := condition(t, c.ns, "Available", "message")
	t.Logf("after a restart the pod's limit is %s: %s", limit, said)
	if limit != "156Mi" && !strings.Contains(said, "one keeps its larger memory limit until its next restart (Pod cache-1: ") {
		t.Errorf("the limit of cache-1 is %s, and Available says %q", limit, said)
	}
	if limits := c.report(t).Nodes[1].Limits; limits[len(limits)-1] != 96*mebibyte {
		t.Errorf("the limits of the node that was restarted are %v", limits)
	}
}

// assertCrashedNodeHasNewSize ends a container after its node has grown. It comes back at
// that size: it is never seen with another.
func (c *liveCache) assertCrashedNodeHasNewSize(t *testing.T, size int) {
	t.Helper()
	before := c.count(t)
	crashed := c.during(t, "a container ends", func() {
		c.ns.get(t, "client", "end?node=1")
		c.ns.waitFor(t, "pod/cache-1", "jsonpath={.status.containerStatuses[0].restartCount}=1")
		c.ns.waitFor(t, "pod/cache-1", "condition=Ready")
		eventually(t, func() error {
			if r := c.report(t); !r.Nodes[1].Up || r.Nodes[1].Downs == 0 {
				return fmt.Errorf("the client has not seen it end and come back: %v", r)
			}
			return nil
		})
	})
	if limits := crashed.Nodes[1].Limits; !slices.Equal(limits, []int{size}) {
		t.Errorf("the limits of the node that ended and came back are %v", limits)
	}
	if crashed.Errors[0]+crashed.Errors[2] > 0 {
		t.Errorf("requests to the other nodes failed: %v %q", crashed.Errors, crashed.FirstErrors)
	}
	if left := c.count(t); left[0] != before[0] || left[2] != before[2] {
		t.Errorf("the nodes had %v items before one ended, and have %v", before, left)
	}
	c.ns.waitFor(t, "memcached/cache", "condition=Available")
}

// assertShrinks fills the nodes with more than they can keep, and makes them smaller.
func (c *liveCache) assertShrinks(t *testing.T) {
	t.Helper()
	const (
		pages     = 96 // of one mebibyte each, which memcached takes and gives back
		otherKeys = 50 // what the client writes beside the items
	)
	c.items = 400_000
	c.ns.get(t, "client", fmt.Sprintf("fill?items=%d", c.items))
	full := c.count(t)
	if sum(full) != c.items {
		t.Fatalf("%d items were stored, and %v are there", c.items, full)
	}
	before := c.pods(t)
	shrunk := c.during(t, "memory 256Mi → 96Mi", func() { c.change(t, `{"memory":"96Mi"}`) })
	if sum(shrunk.Errors) > 0 || shrunk.Wrong > 0 {
		t.Errorf("requests failed: %v %q", shrunk.Errors, shrunk.FirstErrors)
	}
	// A node that is suddenly full may not find an old item in time to make room for a new one.
	if shrunk.Refused > shrunk.Writes/4 {
		t.Errorf("%d of %d writes were refused", shrunk.Refused, shrunk.Writes)
	}
	c.assertUntouched(t, before)
	c.assertPodMemory(t, "156Mi")
	c.plans.assert(t, "memory 256Mi → 96Mi: live")

	left := c.count(t)
	nodes := c.report(t).Nodes
	for i, node := range nodes {
		if node.Limits[len(node.Limits)-1] != pages*mebibyte || node.Allocated > pages*mebibyte {
			t.Errorf("%s has a limit of %v and has taken %d", node.Name, node.Limits, node.Allocated)
		}
		// The items are in the class that has most pages.
		items, others := node.Classes[0], 0
		for _, class := range node.Classes {
			others += class.Pages
			if class.Pages > items.Pages {
				items = class
			}
		}
		others -= items.Pages
		fits := (pages-others)*items.PerPage - otherKeys
		t.Logf("%s: %d items were there, %d fit, %d are left", strings.SplitN(node.Name, ".", 2)[0], full[i], fits, left[i])
		if full[i] < fits+pages*items.PerPage/4 {
			t.Errorf("%s was not full enough to tell", node.Name)
		}
		// Pages go as a whole, and memcached keeps up to one of them free in each class that it has moved.
		if left[i] < fits-2*len(node.Classes)*items.PerPage {
			t.Errorf("%s has kept %d of the %d items that fit: %+v", node.Name, left[i], fits, node.Classes)
		}
	}
}

// Memory that a cluster node does not have is not given: it is told in the words of who
// refuses it, nothing happens to the nodes, and a size that is possible settles it.
func TestMemcachedLiveInfeasible(t *testing.T) {
	t.Parallel()
	c := newLiveCache(t, 3, "memory: 64Mi", clientLoad{items: 9_000, batches: 30})
	before := c.pods(t)
	for _, size := range []struct {
		memory, reason string
		words          []string
	}{
		{"2Ti", "ResizeInfeasible", []string{"enough allocatable resources", "memory", "cache-"}},
		// Two of three nodes are on one of the two cluster nodes.
		{c.halfOfNode(t), "ResizeDeferred", []string{"enough resource", "memory", "cache-"}},
	} {
		r := c.during(t, "memory 64Mi → "+size.memory+" and back", func() {
			c.patch(t, `{"memory":"`+size.memory+`"}`)
			c.ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=`+size.reason)
			said := condition(t, c.ns, "Degraded", "message")
			t.Log(said)
			for _, word := range size.words {
				if !strings.Contains(said, word) {
					t.Errorf("Degraded does not say %q: %s", word, said)
				}
			}
			c.assertItems(t)
			c.change(t, `{"memory":"64Mi"}`)
		})
		c.assertServed(t, r)
		c.assertItems(t)
		c.assertUntouched(t, before)
		c.assertPodMemory(t, "120Mi")
		c.ns.waitFor(t, "memcached/cache", "condition=Degraded=False")
	}
	c.plans.assert(t, "memory 64Mi → 2097152Mi: live")
}

// CPU is given to running nodes, too. What cannot be taken from them restarts them.
func TestMemcachedLiveResources(t *testing.T) {
	t.Parallel()
	c := newLiveCache(t, 2, "memory: 64Mi", clientLoad{items: 3_000, batches: 30})
	before := c.pods(t)
	given := c.during(t, "limits.cpu none → 1", func() { c.change(t, `{"resources":{"limits":{"cpu":"1"}}}`) })
	c.assertServed(t, given)
	c.assertItems(t)
	c.assertUntouched(t, before)
	c.plans.assert(t, "resources: live")

	taken := c.during(t, "limits.cpu 1 → none", func() { c.change(t, `{"resources":null}`) })
	if taken.LowestUp < 1 {
		t.Error("both nodes were down at a time")
	}
	for i, now := range c.pods(t) {
		if now == before[i] {
			t.Errorf("%s was not restarted", now)
		}
	}
	if got := c.ns.kubectl(t, "get", "pods", "-l", "memcached_cr=cache", "-o", "jsonpath={.items[*].spec.containers[0].resources.limits}"); strings.Contains(got, "cpu") {
		t.Errorf("the limits are %s", got)
	}
	c.plans.assert(t, "resources: restart, one node at a time")
}

// halfOfNode is a little more than half of what fits on a cluster node.
func (c *liveCache) halfOfNode(t *testing.T) string {
	t.Helper()
	allocatable := kubectl(t, "get", "nodes", "-o", "jsonpath={.items[0].status.allocatable.memory}")
	kibibytes, err := strconv.Atoi(strings.TrimSuffix(allocatable, "Ki"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%dMi", kibibytes/1024/2)
}
