// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What the operator costs the API server, counted there. Events are not counted.
func TestMemcachedCost(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	start, begin := ns.mark(t), time.Now()
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	assertCreationCost(t, ns.writesSince(t, start, "memcached-sample"), time.Since(begin))

	start = ns.mark(t)
	for i := range 10 {
		ns.kubectl(t, "annotate", "deployment/memcached-sample", "service/memcached-sample", fmt.Sprintf("example.com/foreign-%d=true", i))
	}
	assertNoWrites(t, "ten foreign annotations on each child", ns.writesSince(t, start, "memcached-sample"))
}

// assertCreationCost checks that each child and the resource's finalizer were written
// once, and the status at most twice: that the nodes are coming, and that they are there.
// On a machine that takes long to start them the status also tells how far they are,
// every five seconds at most.
func assertCreationCost(t *testing.T, writes []write, took time.Duration) {
	t.Helper()
	t.Logf("from creation to Available: %d writes: %v", len(writes), writes)
	children, status := map[string]int{}, 0
	for _, w := range writes {
		switch w.object() {
		case "memcacheds/memcached-sample/status":
			status++
		default:
			children[w.object()]++
		}
	}
	for _, child := range []string{"deployments/memcached-sample", "services/memcached-sample"} {
		if children[child] == 0 {
			t.Errorf("no write of %s was counted", child)
		}
	}
	for object, n := range children {
		if n != 1 {
			t.Errorf("%s was written %d times, want once", object, n)
		}
	}
	if most := 2 + int(took/(5*time.Second)); status > most {
		t.Errorf("the status was written %d times in %v, want at most %d", status, took, most)
	}
}

func assertNoWrites(t *testing.T, what string, writes []write) {
	t.Helper()
	t.Logf("%s: %d writes", what, len(writes))
	if len(writes) > 0 {
		t.Errorf("%s: %d writes, want none: %v", what, len(writes), writes)
	}
}

// Settled resources cost nothing, however often they are looked at. It is not parallel
// to other tests because it restarts the operator.
func TestMemcachedSettledCost(t *testing.T) {
	const resources = 200
	ns := newNamespace(t, restricted)
	var all strings.Builder
	names := make([]string, resources)
	for i := range names {
		names[i] = fmt.Sprintf("settled-%d", i)
		fmt.Fprintf(&all, "---\napiVersion: cache.example.com/v1alpha1\nkind: Memcached\nmetadata: {name: %s}\nspec: {size: 0}\n", names[i])
	}
	ns.apply(t, all.String())
	// Some have nodes, and a size that somebody else has set.
	ns.kubectl(t, "scale", "memcached", names[0], names[1], "--replicas=2")
	// One request, where `kubectl wait` makes several for each of them.
	const settled = `{range .items[*]}{.status.observedGeneration}={.metadata.generation} {.status.ready} {.status.conditions[?(@.type=="Available")].status}{"\n"}{end}`
	eventually(t, func() error {
		states := map[string]int{}
		for line := range strings.Lines(ns.kubectl(t, "get", "memcached", "-o", "jsonpath="+settled)) {
			states[strings.TrimSpace(line)]++
		}
		if states["1=1 0/0 True"] != resources-2 || states["2=2 2/2 True"] != 2 {
			return fmt.Errorf("states of the resources: %v", states)
		}
		return nil
	})
	ns.writesSince(t, ns.mark(t), names[0], names[1])

	start := ns.mark(t)
	for i := range 20 {
		ns.kubectl(t, "annotate", "--overwrite", "memcached", names[0], fmt.Sprintf("example.com/resync=%d", i))
	}
	assertNoWrites(t, "20 forced resyncs", ns.writesSince(t, start, names[0]))

	start = ns.mark(t)
	restartOperator(t, ns)
	ns.mark(t)
	assertNoWrites(t, fmt.Sprintf("a restart with %d resources", resources), readAudit(t, start).ofOperator(ns))
	if got := ns.kubectl(t, "get", "memcached", names[0], "-o", "jsonpath={.spec.size} {.status.readyNodes}"); got != "2 2" {
		t.Errorf("after kubectl scale to 2 and a restart of the operator size and ready nodes are %q", got)
	}
}
