// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// An edit is a change by hand of something that the operator sets, as a JSON patch.
type edit struct {
	object string
	op     string
	path   string
	value  func(*rand.Rand) any
}

func (e edit) String() string {
	return e.op + " " + e.path + " of " + e.object
}

func (e edit) patch(t *testing.T, random *rand.Rand) string {
	t.Helper()
	operation := map[string]any{"op": e.op, "path": e.path}
	if e.value != nil {
		operation["value"] = e.value(random)
	}
	data, err := json.Marshal([]any{operation})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// edits are at least one of every field that the operator sets and the API server lets
// anyone change. The selector of a Deployment is immutable.
var edits = func() []edit {
	const (
		deployment = "deployment/memcached-sample"
		service    = "service/memcached-sample"
		pod        = "/spec/template/spec"
		container  = pod + "/containers/0"
	)
	constant := func(value any) func(*rand.Rand) any { return func(*rand.Rand) any { return value } }
	number := func(format string) func(*rand.Rand) any {
		return func(r *rand.Rand) any { return fmt.Sprintf(format, 100+r.IntN(900)) }
	}
	integer := func(from, below int) func(*rand.Rand) any {
		return func(r *rand.Rand) any { return from + r.IntN(below-from) }
	}
	all := []edit{
		{deployment, "replace", "/spec/replicas", integer(2, 4)},
		{deployment, "replace", "/spec/replicas", constant(0)},
		{deployment, "replace", "/spec/strategy", constant(map[string]any{"type": "Recreate"})},
		{deployment, "replace", "/spec/strategy/rollingUpdate/maxSurge", integer(2, 9)},
		{deployment, "replace", "/spec/strategy/rollingUpdate/maxUnavailable", func(r *rand.Rand) any { return fmt.Sprintf("%d%%", 10+r.IntN(80)) }},
		{deployment, "replace", "/spec/template/metadata/labels/app.kubernetes.io~1instance", number("other-%d")},
		{deployment, "remove", "/spec/template/metadata/labels/app.kubernetes.io~1name", nil},
		{deployment, "replace", container + "/image", number("example.com/memcached:%d")},
		{deployment, "replace", container + "/command", constant([]string{"sleep"})},
		{deployment, "remove", container + "/command", nil},
		{deployment, "replace", container + "/args/1", number("--memory-limit=%d")},
		{deployment, "add", container + "/args/-", constant("-v")},
		{deployment, "remove", container + "/args/0", nil},
		{deployment, "remove", container + "/args", nil},
		{deployment, "replace", container + "/ports/0/name", number("port-%d")},
		{deployment, "replace", container + "/resources/limits/memory", number("%dGi")},
		{deployment, "replace", container + "/resources/requests/cpu", number("%dm")},
		{deployment, "remove", container + "/resources/requests", nil},
		{deployment, "replace", container + "/resources", constant(map[string]any{})},
		{deployment, "replace", container + "/readinessProbe/periodSeconds", integer(20, 99)},
		{deployment, "replace", container + "/readinessProbe/tcpSocket/port", integer(20, 99)},
		{deployment, "remove", container + "/readinessProbe", nil},
		{deployment, "replace", container + "/livenessProbe/initialDelaySeconds", integer(20, 99)},
		{deployment, "remove", container + "/livenessProbe", nil},
		{deployment, "replace", container + "/securityContext/readOnlyRootFilesystem", constant(false)},
		{deployment, "replace", container + "/securityContext/allowPrivilegeEscalation", constant(true)},
		{deployment, "replace", container + "/securityContext/capabilities/drop", constant([]string{"NET_RAW"})},
		{deployment, "remove", container + "/securityContext", nil},
		{deployment, "replace", container + "/lifecycle/preStop/sleep/seconds", integer(1, 3)},
		{deployment, "remove", container + "/lifecycle", nil},
		{deployment, "replace", pod + "/terminationGracePeriodSeconds", integer(20, 99)},
		{deployment, "replace", pod + "/securityContext/runAsUser", integer(1000, 2000)},
		{deployment, "replace", pod + "/securityContext/runAsNonRoot", constant(false)},
		{deployment, "replace", pod + "/securityContext/seccompProfile/type", constant("Unconfined")},
		{deployment, "replace", pod + "/securityContext", constant(map[string]any{})},
		{deployment, "replace", pod + "/automountServiceAccountToken", constant(true)},
		{deployment, "remove", pod + "/enableServiceLinks", nil},
		{deployment, "replace", pod + "/topologySpreadConstraints/0/maxSkew", integer(2, 9)},
		{deployment, "remove", pod + "/topologySpreadConstraints", nil},
		{service, "replace", "/spec/ports/0/name", number("port-%d")},
		{service, "replace", "/spec/ports/0/targetPort", integer(20, 99)},
		{service, "replace", "/spec/selector/memcached_cr", number("other-%d")},
		{service, "remove", "/spec/selector/app", nil},
		{service, "add", "/spec/selector/other", constant("true")},
		{service, "remove", "/spec/selector", nil},
	}
	for _, object := range []string{deployment, service} {
		all = append(all,
			edit{object, "replace", "/metadata/labels/app.kubernetes.io~1managed-by", number("other-%d")},
			edit{object, "remove", "/metadata/labels/app", nil},
			edit{object, "replace", "/metadata/ownerReferences/0/controller", constant(false)},
			edit{object, "remove", "/metadata/ownerReferences/0/blockOwnerDeletion", nil},
			edit{object, "remove", "/metadata/ownerReferences", nil},
		)
	}
	return all
}()

// Whatever is changed by hand is put back, by one write; what others have added stays.
func TestMemcachedDrift(t *testing.T) {
	t.Parallel()
	const count = 50
	seed := uint64(time.Now().UnixNano())
	if given, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = given
	}
	t.Logf("random edits from SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, seed))

	ns := newNamespace(t, restricted)
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.kubectl(t, "scale", "memcached/memcached-sample", "--replicas=1")
	ns.waitFor(t, "memcached/memcached-sample", "jsonpath={.status.ready}=1/1")
	start := ns.mark(t)
	addForeign(t, ns)
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	if writes := childWrites(ns.writesSince(t, start, "memcached-sample")); len(writes) > 0 {
		t.Errorf("what others added was answered by %v", writes)
	}

	intact := map[string]map[string]any{}
	for _, e := range edits {
		if intact[e.object] == nil {
			intact[e.object] = content(t, ns, e.object)
		}
	}
	start = ns.mark(t)
	chosen := slices.Clone(edits)
	random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	for i := range count {
		e := chosen[i%len(chosen)]
		patch := e.patch(t, random)
		position := readAudit(t, start).end
		ns.kubectl(t, "patch", e.object, "--type=json", "-p", patch)
		eventually(t, func() error {
			if now := content(t, ns, e.object); !reflect.DeepEqual(now, intact[e.object]) {
				return fmt.Errorf("%s is not repaired:\n%s", patch, difference(t, intact[e.object], now))
			}
			return nil
		})
		if writes := childWrites(readAudit(t, position).ofOperator(ns)); len(writes) != 1 {
			t.Errorf("%s on %s was repaired by %d writes, want 1: %v", patch, e.object, len(writes), writes)
		}
	}
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	writes := childWrites(ns.writesSince(t, start, "memcached-sample"))
	t.Logf("%d edits were repaired by %d writes", count, len(writes))
	if len(writes) != count {
		t.Errorf("%d edits were repaired by %d writes", count, len(writes))
	}
}

// A port is told from another by its number. One that was changed by hand is therefore
// a second port to the API server, which has the name of the first and keeps that from
// coming back, until a further write has removed it.
func TestMemcachedDriftOfPorts(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	for _, e := range []edit{
		{"service/memcached-sample", "replace", "/spec/ports/0/port", func(*rand.Rand) any { return 11311 }},
		{"service/memcached-sample", "replace", "/spec/ports/0/protocol", func(*rand.Rand) any { return "UDP" }},
		{"deployment/memcached-sample", "replace", "/spec/template/spec/containers/0/ports/0/containerPort", func(*rand.Rand) any { return 11311 }},
		{"deployment/memcached-sample", "replace", "/spec/template/spec/containers/0/ports/0/protocol", func(*rand.Rand) any { return "UDP" }},
	} {
		intact := content(t, ns, e.object)
		position := ns.mark(t)
		ns.kubectl(t, "patch", e.object, "--type=json", "-p", e.patch(t, nil))
		eventually(t, func() error {
			if now := content(t, ns, e.object); !reflect.DeepEqual(now, intact) {
				return fmt.Errorf("%v is not repaired:\n%s", e, difference(t, intact, now))
			}
			return nil
		})
		writes := childWrites(readAudit(t, position).ofOperator(ns))
		t.Logf("%v was repaired by %v", e, writes)
		if changes := slices.DeleteFunc(writes, func(w write) bool { return w.ResponseStatus.Code >= 400 }); len(changes) > 2 {
			t.Errorf("%v was repaired by %d changes, want at most 2: %v", e, len(changes), changes)
		}
	}
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
}

// addForeign adds what meshes, autoscalers and people add to objects of others.
func addForeign(t *testing.T, ns namespace) {
	t.Helper()
	image := ns.kubectl(t, "get", "memcached", "memcached-sample", "-o", "jsonpath={.status.image}")
	ns.kubectl(t, "annotate", "deployment/memcached-sample", "service/memcached-sample", "example.com/owner=team-a")
	ns.kubectl(t, "label", "deployment/memcached-sample", "service/memcached-sample", "example.com/team=a")
	ns.kubectl(t, "patch", "service", "memcached-sample", "--type=merge", "-p", `{"spec":{"publishNotReadyAddresses":true}}`)
	ns.kubectl(t, "patch", "deployment", "memcached-sample", "--type=json", "-p", fmt.Sprintf(`[
		{"op": "add", "path": "/spec/template/metadata/annotations/example.com~1restarted", "value": "today"},
		{"op": "add", "path": "/spec/template/spec/containers/0/env/-", "value": {"name": "ADDED", "value": "true"}},
		{"op": "add", "path": "/spec/template/spec/containers/-", "value": {
			"name": "sidecar", "image": %q, "command": ["memcached", "--port=15001"],
			"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}
		}}
	]`, image))
	ns.kubectl(t, "rollout", "status", "deployment/memcached-sample", "--timeout="+patience.String())
}

// childWrites leaves out the writes of the resource's own status.
func childWrites(writes []write) []write {
	return slices.DeleteFunc(slices.Clone(writes), func(w write) bool { return w.ObjectRef.Resource == "memcacheds" })
}

// content is all of an object but what the API server and other controllers count in it.
func content(t *testing.T, ns namespace, object string) map[string]any {
	t.Helper()
	var o struct {
		Metadata struct {
			Labels          map[string]string
			Annotations     map[string]string
			OwnerReferences []any
		}
		Spec map[string]any
	}
	if err := json.Unmarshal([]byte(ns.kubectl(t, "get", object, "-o", "json")), &o); err != nil {
		t.Fatal(err)
	}
	delete(o.Metadata.Annotations, "deployment.kubernetes.io/revision")
	return map[string]any{
		"labels": o.Metadata.Labels, "annotations": o.Metadata.Annotations, "ownerReferences": o.Metadata.OwnerReferences,
		"spec": o.Spec,
	}
}

// difference names the parts of an object that differ, and tells them whole.
func difference(t *testing.T, want, got map[string]any) string {
	t.Helper()
	said := ""
	for key := range want {
		if !reflect.DeepEqual(want[key], got[key]) {
			wanted, err := json.Marshal(want[key])
			if err != nil {
				t.Fatal(err)
			}
			gotten, err := json.Marshal(got[key])
			if err != nil {
				t.Fatal(err)
			}
			said += fmt.Sprintf("%s is   %s\n%s want %s\n", key, gotten, key, wanted)
		}
	}
	return said
}
