// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// loadSeconds is when a client under load ends by itself, if its test does not end before.
const loadSeconds = 1800

// A liveCache is a Memcached of workload StatefulSet, named cache, that is full of items,
// with a client that reads and writes all the time; see test/images/cacheclient.
type liveCache struct {
	ns    namespace
	items int
	plans *plans
}

// loadReport is what the client has counted and seen since the last reset.
type loadReport struct {
	Seconds     float64
	Reads       int
	Misses      int
	Wrong       int
	Writes      int
	Refused     int   // writes that a node had no room for
	Errors      []int // by node
	FirstErrors []string
	// LowestUp is how few nodes answered at a time, LowestItems how few items those had.
	Samples, LowestUp, LowestItems int
	Nodes                          []struct {
		Name      string
		Up        bool
		Items     int
		Downs     int
		Limits    []int // in bytes, one after the other
		Threads   int
		Allocated int
		Classes   []struct{ ChunkSize, Pages, PerPage, Used int }
		Flushes   []time.Time
	}
}

func (r loadReport) String() string {
	return fmt.Sprintf("%.1f s, %d reads with %d misses, %d writes with %d refused, errors by node %v; of %d samples the worst had %d nodes up and %d items on them",
		r.Seconds, r.Reads, r.Misses, r.Writes, r.Refused, r.Errors, r.Samples, r.LowestUp, r.LowestItems)
}

// A clientLoad is how many items the client stores first, how many batches of 100 it
// reads in a second, and whether it stores what it misses.
type clientLoad struct {
	items, batches int
	refill         bool
}

// newLiveCache makes a cache of some nodes in a namespace of its own, and returns it full and under load.
func newLiveCache(t *testing.T, size int, spec string, l clientLoad) *liveCache {
	t.Helper()
	ns := newNamespace(t, restricted)
	ns.apply(t, fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {workload: StatefulSet, size: %d, %s}`, size, spec))
	ns.waitFor(t, "memcached/cache", "condition=Available")
	addresses := strings.Fields(ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoints.nodes[*]}"))
	if len(addresses) != size {
		t.Fatalf("the nodes' addresses are %q", addresses)
	}
	refill := 0
	if l.refill {
		refill = 1
	}
	startClient(t, ns, "client", "load", strings.Join(addresses, ","), fmt.Sprint(l.items), fmt.Sprint(l.batches), fmt.Sprint(loadSeconds), fmt.Sprint(refill))
	c := &liveCache{ns: ns, items: l.items, plans: watchPlans(t, ns)}
	eventually(t, func() error {
		// The API server answers an error until the client listens, which it does when the nodes are full.
		if _, err := command("bin/kubectl", "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/client:9090/proxy/report", ns.name)); err != nil {
			logs, _ := command("bin/kubectl", "--namespace", ns.name, "logs", "client")
			return fmt.Errorf("%w\n%s", err, logs)
		}
		return nil
	})
	c.waitUp(t)
	if got := c.count(t); sum(got) != c.items {
		t.Fatalf("%d items were stored, and %v are there", c.items, got)
	}
	return c
}

func (c *liveCache) report(t *testing.T) loadReport {
	t.Helper()
	var r loadReport
	if said := c.ns.get(t, "client", "report"); json.Unmarshal([]byte(said), &r) != nil {
		t.Fatalf("the client said %q", said)
	}
	return r
}

// count reads all items, and returns how many of them each node has.
func (c *liveCache) count(t *testing.T) []int {
	t.Helper()
	var found []int
	if said := c.ns.get(t, "client", "count"); json.Unmarshal([]byte(said), &found) != nil {
		t.Fatalf("the client said %q", said)
	}
	return found
}

func sum(numbers []int) int {
	total := 0
	for _, n := range numbers {
		total += n
	}
	return total
}

// during returns what the client has counted while something was done.
func (c *liveCache) during(t *testing.T, what string, do func()) loadReport {
	t.Helper()
	c.ns.get(t, "client", "reset")
	do()
	r := c.report(t)
	t.Logf("%s: %v", what, r)
	return r
}

// patch changes the spec.
func (c *liveCache) patch(t *testing.T, spec string) {
	t.Helper()
	c.ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":`+spec+`}`)
}

// change changes the spec and waits until the nodes are what it says, and the client has found all of them.
func (c *liveCache) change(t *testing.T, spec string) {
	t.Helper()
	c.patch(t, spec)
	c.ns.waitFor(t, "memcached/cache", "condition=Available")
	c.waitUp(t)
}

// waitUp waits until all nodes answer the client. One that was replaced has another address,
// and names are cached for some seconds.
func (c *liveCache) waitUp(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		for _, node := range c.report(t).Nodes {
			if !node.Up {
				return fmt.Errorf("%s does not answer", node.Name)
			}
		}
		return nil
	})
}

// assertServed checks that every request was answered, and none with a miss.
func (c *liveCache) assertServed(t *testing.T, r loadReport) {
	t.Helper()
	if r.Reads == 0 || r.Writes == 0 {
		t.Errorf("there was no load: %v", r)
	}
	if sum(r.Errors) > 0 || r.Refused > 0 || r.Misses > 0 || r.Wrong > 0 {
		t.Errorf("%d requests failed, %d writes were refused, %d items were missed, %d values were wrong: %q",
			sum(r.Errors), r.Refused, r.Misses, r.Wrong, r.FirstErrors)
	}
}

// assertItems checks that all items are there.
func (c *liveCache) assertItems(t *testing.T) {
	t.Helper()
	left := c.count(t)
	t.Logf("%d of %d items are there: %v", sum(left), c.items, left)
	if sum(left) != c.items {
		t.Errorf("%d of %d items are left", sum(left), c.items)
	}
}

// pods are the nodes' pods, each with how often its container was restarted.
func (c *liveCache) pods(t *testing.T) []string {
	t.Helper()
	return strings.Fields(c.ns.kubectl(t, "get", "pods", "-l", "memcached_cr=cache", "-o",
		`jsonpath={range .items[*]}{.metadata.name}={.metadata.uid}={.status.containerStatuses[0].restartCount}{"\n"}{end}`))
}

// assertUntouched checks that the pods are the same ones as before, and none was restarted.
func (c *liveCache) assertUntouched(t *testing.T, before []string) {
	t.Helper()
	if now := c.pods(t); !slices.Equal(now, before) {
		t.Errorf("the pods and their restarts are\n%q, and they were\n%q", now, before)
	}
}

// assertPodMemory checks the memory that pods may use, as the kubelet has set it.
func (c *liveCache) assertPodMemory(t *testing.T, want string) {
	t.Helper()
	for _, field := range []string{"spec.containers[0]", "status.containerStatuses[0]"} {
		got := strings.Fields(c.ns.kubectl(t, "get", "pods", "-l", "memcached_cr=cache", "-o", "jsonpath={.items[*]."+field+".resources.limits.memory}"))
		if slices.ContainsFunc(got, func(memory string) bool { return memory != want }) || len(got) == 0 {
			t.Errorf("the memory limits in %s are %q, want %s", field, got, want)
		}
	}
}

// plans are all messages that the condition Progressing has had.
type plans struct {
	mu   sync.Mutex
	seen []string
}

func watchPlans(t *testing.T, ns namespace) *plans {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "bin/kubectl"), "--namespace", ns.name, "get", "memcached", "cache", "--watch",
		"-o", `jsonpath={.status.conditions[?(@.type=="Progressing")].message}{"\n"}`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &plans{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			if n := len(p.seen); n == 0 || p.seen[n-1] != lines.Text() {
				p.seen = append(p.seen, lines.Text())
			}
			p.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		<-done
		cmd.Wait() //nolint:errcheck // it was killed
	})
	return p
}

// assert checks that a plan was told.
func (p *plans) assert(t *testing.T, words string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.seen, func(plan string) bool { return strings.Contains(plan, words) }) {
		t.Errorf("the plan was never %q:\n%s", words, strings.Join(p.seen, "\n"))
	}
}
