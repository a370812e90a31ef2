// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// Resources never share a pod or an address, whether they share a namespace or a name.
func TestMemcachedIsolation(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	other := namespace{ns.name + "-other"}
	createNamespace(t, other.name, restricted)
	resources := []struct {
		namespace
		resource string
	}{{ns, "one"}, {ns, "one-two"}, {other, "one"}}
	for _, r := range resources {
		r.apply(t, fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: %s}
spec: {size: 2}`, r.resource))
	}
	owners := map[string]string{}
	take := func(what, owner string) {
		t.Helper()
		if before := owners[what]; before != "" {
			t.Errorf("%s belongs to %s and to %s", what, before, owner)
		}
		owners[what] = owner
	}
	for _, r := range resources {
		r.waitFor(t, "memcached/"+r.resource, "condition=Available")
		owner := r.name + "/" + r.resource
		listed := nodes(t, r.namespace, r.resource)
		addresses := endpoints(t, r.namespace, r.resource)
		if len(listed) != 2 || len(addresses) != 2 {
			t.Errorf("%s has nodes %q and addresses %q, want 2 of each", owner, listed, addresses)
		}
		for _, pod := range listed {
			take("pod "+r.name+"/"+pod, owner)
			address := r.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
			take("address "+address+" of a node", owner)
			if !strings.Contains(strings.Join(addresses, " ")+" ", address+" ") {
				t.Errorf("%s of %s is at %s, and the Service leads to %q", pod, owner, address, addresses)
			}
		}
		for _, address := range addresses {
			take("address "+address+" of the Service", owner)
		}
	}

	// What happens to one does not touch the others.
	start := ns.mark(t)
	other.kubectl(t, "delete", "memcached", "one")
	assertNothingLeft(t, other)
	ns.kubectl(t, "delete", "memcached", "one-two")
	eventually(t, func() error {
		if left := strings.Fields(ns.kubectl(t, "get", "deployment,service", "-o", "name")); len(left) != 2 {
			return fmt.Errorf("after one of two resources was deleted there are %q", left)
		}
		return nil
	})
	ns.waitFor(t, "memcached/one", "condition=Available")
	for _, w := range ns.writesSince(t, start, "one") {
		if w.ObjectRef.Name == "one" {
			t.Errorf("the deletion of others cost %v", w)
		}
	}
}

// An object that somebody else made is not touched, whatever its name; the resource says
// that it is in the way, and takes the name when it is free.
func TestMemcachedLeavesForeignObjectsAlone(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	const foreign = `
apiVersion: v1
kind: Service
metadata: {name: cache, labels: {team: a}}
spec:
  selector: {app: something-else}
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cache, labels: {team: a}}
spec:
  replicas: 0
  selector: {matchLabels: {app: something-else}}
  template:
    metadata: {labels: {app: something-else}}
    spec: {containers: [{name: other, image: example.com/other:1}]}
`
	ns.apply(t, foreign)
	before := content(t, ns, "service/cache")
	beforeDeployment := content(t, ns, "deployment/cache")
	start := ns.mark(t)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {}`)
	ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=NotOwned`)
	ns.waitFor(t, "memcached/cache", "condition=Available=False")
	message := condition(t, ns, "Degraded", "message")
	for _, word := range []string{"Deployment " + ns.name + "/cache", "Service " + ns.name + "/cache", "not created by this operator"} {
		if !strings.Contains(message, word) {
			t.Errorf("the message does not say %q: %s", word, message)
		}
	}

	// Gone with the resource, even if that goes first, is only what the resource owns.
	ns.kubectl(t, "delete", "memcached", "cache")
	ns.mark(t)
	if writes := childWrites(readAudit(t, start).ofOperator(ns)); len(writes) > 0 {
		t.Errorf("objects of others were written: %v", writes)
	}
	if d := difference(t, before, content(t, ns, "service/cache")); d != "" {
		t.Errorf("the Service of others has changed: %s", d)
	}
	if d := difference(t, beforeDeployment, content(t, ns, "deployment/cache")); d != "" {
		t.Errorf("the Deployment of others has changed: %s", d)
	}

	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {}`)
	ns.waitFor(t, "memcached/cache", "condition=Degraded")
	ns.kubectl(t, "delete", "deployment", "cache")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=1/1")
	ns.waitFor(t, "memcached/cache", "condition=Available=False")
	ns.kubectl(t, "delete", "service", "cache")
	ns.waitFor(t, "memcached/cache", "condition=Available")
	ns.waitFor(t, "memcached/cache", "condition=Degraded=False")
}
