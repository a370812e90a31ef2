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

// A real client stores and reads through the Service, whose name is the list of the
// nodes, and through each node by itself.
func TestMemcachedClient(t *testing.T) {
	t.Parallel()
	const nodes, keys = 3, 1000
	ns := newNamespace(t, restricted)
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	endpoint := ns.kubectl(t, "get", "memcached", "memcached-sample", "-o", "jsonpath={.status.endpoint}")

	startClient(t, ns, "client", "check", endpoint, fmt.Sprint(nodes))
	var found struct {
		Addresses []string
		Read      int
		Nodes     []struct{ Own, Shared int }
	}
	clientResult(t, ns, "client", &found)
	t.Logf("%+v", found)

	var pods []string
	for _, ip := range strings.Fields(ns.kubectl(t, "get", "pods", "-l", "memcached_cr=memcached-sample", "-o", "jsonpath={.items[*].status.podIP}")) {
		pods = append(pods, ip+":11211")
	}
	slices.Sort(pods)
	if !slices.Equal(found.Addresses, pods) {
		t.Errorf("%s resolves to %q, the pods are at %q", endpoint, found.Addresses, pods)
	}
	if found.Read != keys {
		t.Errorf("%d of %d keys were read through the Service", found.Read, keys)
	}
	shared := 0
	for i, node := range found.Nodes {
		if node.Own != keys {
			t.Errorf("%d of %d keys were read through node %d by itself", node.Own, keys, i)
		}
		if node.Shared == 0 {
			t.Errorf("none of the keys stored through the Service is on node %d", i)
		}
		shared += node.Shared
	}
	if shared != keys {
		t.Errorf("%d keys stored through the Service are %d on the nodes: each node must be a cache of its own", keys, shared)
	}
}

// startClient runs the test's client of memcached in a pod.
func startClient(t *testing.T, ns namespace, name string, args ...string) {
	t.Helper()
	startProgram(t, ns, name, "quay.io/daein/cacheclient:latest", args...)
}

// startProgram runs an image of the tests in a pod.
func startProgram(t *testing.T, ns namespace, name, image string, args ...string) {
	t.Helper()
	list, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	ns.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: %s
    args: %s
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}`, name, image, list))
}

// clientResult waits for the client to end and reads what it found.
func clientResult(t *testing.T, ns namespace, name string, result any) {
	t.Helper()
	var phase string
	eventually(t, func() error {
		phase = ns.kubectl(t, "get", "pod", name, "-o", "jsonpath={.status.phase}")
		if phase != "Succeeded" && phase != "Failed" {
			return fmt.Errorf("pod %s is %s", name, phase)
		}
		return nil
	})
	said := ns.kubectl(t, "logs", name)
	if phase == "Failed" {
		t.Fatalf("client %s failed: %s", name, said)
	}
	if err := json.Unmarshal([]byte(said), result); err != nil {
		t.Fatalf("client %s said %q: %v", name, said, err)
	}
}
