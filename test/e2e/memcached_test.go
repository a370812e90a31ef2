// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The sample as it stands, then another size, then deletion: what the
// walkthroughs show first.
func TestMemcachedWalkthrough(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	assertNodes(t, ns, 3)

	if got := ns.kubectl(t, "get", "deployment", "memcached-sample", "-o", "jsonpath={.spec.replicas} {.status.readyReplicas}"); got != "3 3" {
		t.Errorf("the Deployment has %q replicas and ready ones", got)
	}
	if got := ns.kubectl(t, "get", "service", "memcached-sample", "-o", "jsonpath={.spec.clusterIP} {.spec.ports[0].name} {.spec.ports[0].port}"); got != "None memcached 11211" {
		t.Errorf("the Service is %q", got)
	}

	ns.kubectl(t, "patch", "memcached", "memcached-sample", "-p", `{"spec":{"size": 5}}`, "--type=merge")
	ns.waitFor(t, "memcached/memcached-sample", "jsonpath={.status.readyNodes}=5")
	assertNodes(t, ns, 5)

	ns.kubectl(t, "scale", "memcached/memcached-sample", "--replicas=2")
	ns.waitFor(t, "memcached/memcached-sample", "jsonpath={.status.ready}=2/2")
	eventually(t, func() error {
		if got := len(nodes(t, ns, "memcached-sample")); got != 2 {
			return fmt.Errorf("%d nodes are listed", got)
		}
		return nil
	})

	ns.kubectl(t, "delete", "memcached", "memcached-sample")
	assertNothingLeft(t, ns)
}

// assertNodes checks that status.nodes are the names of the pods.
func assertNodes(t *testing.T, ns namespace, size int) {
	t.Helper()
	pods := strings.Fields(ns.kubectl(t, "get", "pods", "-l", "app=memcached,memcached_cr=memcached-sample", "-o", "jsonpath={.items[*].metadata.name}"))
	slices.Sort(pods)
	if got := nodes(t, ns, "memcached-sample"); len(got) != size || !slices.Equal(got, pods) {
		t.Errorf("status.nodes is %q, the pods are %q", got, pods)
	}
}

func nodes(t *testing.T, ns namespace, resource string) []string {
	t.Helper()
	var names []string
	if err := json.Unmarshal([]byte(ns.kubectl(t, "get", "memcached", resource, "-o", "jsonpath={.status.nodes}")), &names); err != nil {
		t.Fatal(err)
	}
	return names
}
