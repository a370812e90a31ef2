// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What keeps the nodes from running is named, with the pod where there is one; and when
// it goes the resource repairs itself.
func TestMemcachedStatusNamesTheCause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec string
		// before, heal and after are what kubectl is asked to do.
		before, after []string
		heal          [][]string
		reason        string
		// message is what the condition must say beside the name of a pod.
		message []string
		pod     bool
		// ready is how far the nodes come all the same.
		ready string
	}{
		{
			name: "image", spec: "image: example.com/missing:1",
			reason: "ImagePullBackOff", message: []string{"example.com/missing:1", "not found"}, pod: true, ready: "0/1",
			heal: [][]string{{"patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"image":null}}`}},
		},
		{
			name: "crash", spec: `extraArgs: ["-o", "no_such_option"]`,
			reason: "CrashLoopBackOff", message: []string{"container memcached keeps ending", "exit code"}, pod: true, ready: "0/1",
			heal: [][]string{{"patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"extraArgs":null}}`}},
		},
		{
			name: "unschedulable", spec: "nodeSelector: {example.com/e2e: unschedulable}",
			reason: "Unschedulable", message: []string{"0/2 nodes are available"}, pod: true, ready: "0/1",
			heal:  [][]string{{"label", "node", "--all", "example.com/e2e=unschedulable"}},
			after: []string{"label", "node", "--all", "example.com/e2e-"},
		},
		{
			name: "quota", spec: "size: 3",
			before: []string{"create", "quota", "few", "--hard=pods=2"},
			reason: "QuotaExceeded", message: []string{"exceeded quota: few"}, ready: "2/3",
			heal: [][]string{
				{"delete", "quota", "few"},
				// Kubernetes tries again after minutes, or at a change.
				{"annotate", "replicaset", "--all", "example.com/quota=gone"},
			},
		},
		{
			name: "quota-service", spec: "size: 1",
			before: []string{"create", "quota", "none", "--hard=services=0"},
			reason: "QuotaExceeded", message: []string{"applying Service", "exceeded quota: none"}, ready: "1/1",
			heal: [][]string{{"delete", "quota", "none"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, restricted)
			if c.before != nil {
				ns.kubectl(t, c.before...)
			}
			if c.after != nil {
				t.Cleanup(func() { ns.kubectl(t, c.after...) })
			}
			start := ns.mark(t)
			ns.apply(t, fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {%s}`, c.spec))
			ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=`+c.reason)
			ns.waitFor(t, "memcached/cache", "condition=Degraded")
			ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}="+c.ready)
			ns.waitFor(t, "memcached/cache", "condition=Available=False")
			ns.waitFor(t, "memcached/cache", "jsonpath={.status.phase}=Degraded")
			message := condition(t, ns, "Degraded", "message")
			words := c.message
			if c.pod {
				words = append(words, nodes(t, ns, "cache")[0])
			}
			for _, word := range words {
				if !strings.Contains(message, word) {
					t.Errorf("the message does not say %q: %s", word, message)
				}
			}
			eventually(t, func() error {
				events := ns.kubectl(t, "get", "events", "--field-selector=type=Warning,involvedObject.kind=Memcached", "-o", "jsonpath={.items[*].reason}")
				if !slices.Contains(strings.Fields(events), c.reason) {
					return fmt.Errorf("warnings about the resource: %q", events)
				}
				return nil
			})

			for _, args := range c.heal {
				ns.kubectl(t, args...)
			}
			ns.waitFor(t, "memcached/cache", "condition=Available")
			ns.waitFor(t, "memcached/cache", "condition=Degraded=False")
			ns.waitFor(t, "memcached/cache", "jsonpath={.status.phase}=Running")
			t.Logf("Degraded said: %s. The operator made %d writes until all was well", message, len(readAudit(t, start).ofOperator(ns)))
		})
	}
}

// condition reads one field of a condition of the resource named cache.
func condition(t *testing.T, ns namespace, conditionType, field string) string {
	t.Helper()
	return ns.kubectl(t, "get", "memcached", "cache", "-o", fmt.Sprintf(`jsonpath={.status.conditions[?(@.type==%q)].%s}`, conditionType, field))
}

// `kubectl wait --for=condition=Available` returns when every node of the spec that was
// given last is ready and in the Service, not before.
func TestMemcachedStatusIsNotAhead(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 2}`)
	assertComplete := func(size int, args string) {
		t.Helper()
		ns.waitFor(t, "memcached/cache", "condition=Available")
		const state = `{range .items[*]}{.spec.containers[0].args} {.metadata.deletionTimestamp} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`
		ready := 0
		for line := range strings.Lines(ns.kubectl(t, "get", "pods", "-o", "jsonpath="+state)) {
			if strings.Contains(line, args) && strings.HasSuffix(line, "  True\n") {
				ready++
			}
		}
		if exposed := endpoints(t, ns, "cache"); ready != size || len(exposed) != size {
			t.Errorf("Available with %d of %d nodes of this spec ready, and %d in the Service", ready, size, len(exposed))
		}
		if got := nodes(t, ns, "cache"); len(got) != size || !slices.IsSorted(got) {
			t.Errorf("status.nodes of %d nodes is %q", size, got)
		}
	}
	assertComplete(2, "--threads=4")
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"threads":2}}`)
	assertComplete(2, "--threads=2")
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"size":4}}`)
	assertComplete(4, "--threads=2")

	// A pod that is going is no node, even while it still serves.
	going := nodes(t, ns, "cache")[0]
	ns.kubectl(t, "delete", "pod", going, "--wait=false")
	eventually(t, func() error {
		if got := nodes(t, ns, "cache"); slices.Contains(got, going) || !slices.IsSorted(got) {
			return fmt.Errorf("%s is going, and status.nodes is %q", going, got)
		}
		return nil
	})
	if phase := ns.kubectl(t, "get", "pod", going, "--ignore-not-found", "-o", "jsonpath={.status.phase}"); phase != "Running" {
		t.Errorf("%s left status.nodes only when it had ended", going)
	}
	assertComplete(4, "--threads=2")
}

// The size belongs to whoever sets it, by the spec or through the scale subresource;
// the operator never does.
func TestMemcachedScale(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	start := ns.mark(t)
	assertSize := func(size int) {
		t.Helper()
		want := fmt.Sprint(size)
		ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}="+want+"/"+want)
		ns.waitFor(t, "memcached/cache", "condition=Available")
		eventually(t, func() error {
			scale := ns.kubectl(t, "get", "memcached", "cache", "--subresource=scale", "-o", "jsonpath={.status.replicas} {.status.selector}")
			if scale != want+" app=memcached,memcached_cr=cache" {
				return fmt.Errorf("the scale subresource says %q, want %d nodes", scale, size)
			}
			return nil
		})
		if replicas := ns.kubectl(t, "get", "deployment", "cache", "-o", "jsonpath={.spec.replicas}"); replicas != want {
			t.Errorf("the Deployment has %s replicas, want %d", replicas, size)
		}
	}
	assertSize(1)
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=3")
	assertSize(3)
	// An autoscaler writes the same subresource, again and again.
	for _, size := range []int{2, 4, 1, 2} {
		ns.kubectl(t, "patch", "memcached", "cache", "--subresource=scale", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, size))
		ns.kubectl(t, "annotate", "--overwrite", "memcached/cache", fmt.Sprintf("example.com/size=%d", size))
	}
	assertSize(2)
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=0")
	assertSize(0)
	if reason := condition(t, ns, "Available", "reason"); reason != "ScaledToZero" {
		t.Errorf("with size 0 the reason of Available is %q", reason)
	}
	eventually(t, func() error {
		if pods := ns.kubectl(t, "get", "pods", "--ignore-not-found", "-o", "name"); pods != "" {
			return fmt.Errorf("pods with size 0: %s", pods)
		}
		return nil
	})
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=1")
	assertSize(1)
	for _, w := range ns.writesSince(t, start, "cache") {
		if w.ObjectRef.Resource == "memcacheds" && w.ObjectRef.Subresource != "status" {
			t.Errorf("the operator wrote to the resource itself: %v", w)
		}
	}
}
