// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A namespace goes with all that is in it: the finalizer is in nobody's way.
func TestMemcachedNamespaceDeletion(t *testing.T) {
	t.Parallel()
	const name = "memcached-namespace-deletion"
	kubectl(t, "create", "namespace", name)
	ns := namespace{name}
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	kubectl(t, "delete", "namespace", name, "--timeout="+patience.String())
}

// From a Deployment to a StatefulSet with all that is optional, and back: no moment
// without a listed node, and nothing left of the other kind.
func TestMemcachedWorkload(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 2}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")

	change := func(patch, wanted, gone string) {
		t.Helper()
		ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", patch)
		eventually(t, func() error {
			endpoints := ns.kubectl(t, "get", "endpointslices", "-l", "kubernetes.io/service-name=cache",
				"-o", "jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[0]}")
			if len(strings.Fields(endpoints)) == 0 {
				t.Fatal("no node is in the Service")
			}
			if got := ns.kubectl(t, "get", "deployment,statefulset", "-o", "name"); strings.Contains(got, gone) || !strings.Contains(got, wanted) {
				return fmt.Errorf("workloads: %s", got)
			}
			return nil
		})
		ns.waitFor(t, "memcached/cache", "condition=Available")
		if got := ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.ready}"); got != "2/2" {
			t.Errorf("%s nodes are ready", got)
		}
	}
	change(`{"spec":{"workload":"StatefulSet","disruption":{},"networkPolicy":{}}}`, "statefulset.apps/cache", "deployment.apps/cache")
	if got := strings.Join(nodes(t, ns, "cache"), " "); got != "cache-0 cache-1" {
		t.Errorf("the nodes are %s", got)
	}
	if got := ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoints.nodes[1]}"); got != "cache-1.cache."+ns.name+".svc:11211" {
		t.Errorf("the second node's address is %s", got)
	}
	if got := ns.kubectl(t, "get", "poddisruptionbudget,networkpolicy", "-o", "name"); !strings.Contains(got, "poddisruptionbudget.policy/cache") || !strings.Contains(got, "networkpolicy.networking.k8s.io/cache") {
		t.Errorf("optional children: %s", got)
	}

	// Scaling in takes the highest number.
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=3")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=3/3")
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=2")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=2/2")
	eventually(t, func() error {
		if got := strings.Join(nodes(t, ns, "cache"), " "); got != "cache-0 cache-1" {
			return fmt.Errorf("the nodes are %s", got)
		}
		return nil
	})

	change(`{"spec":{"workload":"Deployment","disruption":null,"networkPolicy":null}}`, "deployment.apps/cache", "statefulset.apps/cache")
	eventually(t, func() error {
		if left := ns.kubectl(t, "get", "poddisruptionbudget,networkpolicy", "-o", "name"); strings.Contains(left, "/cache") {
			return fmt.Errorf("left: %s", left)
		}
		return nil
	})
}
