// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The walkthroughs that this operator comes from. Their command lines are typed here
// as they are printed there, and must show what they show there.

// A terminal is a shell in the repository whose kubectl works in the test's namespace,
// as a walkthrough's works in `default`.
type terminal struct {
	env []string
}

func (n namespace) terminal(t *testing.T, env ...string) terminal {
	t.Helper()
	config, err := os.ReadFile(os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "--kubeconfig", file, "config", "set-context", "--current", "--namespace", n.name)
	return terminal{append(env, "KUBECONFIG="+file, "CLUSTER=sandbox", "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"))}
}

func (c terminal) try(line string) (string, error) {
	cmd := exec.Command("bash", "-o", "pipefail", "-c", line)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), c.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("$ %s: %w\n%s", line, err, out)
	}
	return string(out), nil
}

func (c terminal) types(t *testing.T, line string) string {
	t.Helper()
	out, err := c.try(line)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// sees types a line until its output matches the pattern.
func (c terminal) sees(t *testing.T, line, pattern string) {
	t.Helper()
	expression := regexp.MustCompile(pattern)
	eventually(t, func() error {
		out, err := c.try(line)
		if err == nil && !expression.MatchString(out) {
			err = fmt.Errorf("$ %s\n%s\ndoes not show %s", line, out, pattern)
		}
		return err
	})
}

const (
	getStatus    = `kubectl get memcached memcached-sample -o jsonpath='{.status}'`
	operatorLogs = `kubectl logs $(kubectl get po -n memcached-operator-system | grep memcached-operator-controller-manager | awk '{print $1}') -c manager -n memcached-operator-system`
)

// seesNodes checks that status.nodes are the pods that `kubectl get pod` lists as running.
func (c terminal) seesNodes(t *testing.T, size int) {
	t.Helper()
	var listed []string
	eventually(t, func() error {
		listed = nil
		for line := range strings.Lines(c.types(t, "kubectl get pod --no-headers")) {
			columns := strings.Fields(line)
			if columns[1] != "1/1" || columns[2] != "Running" {
				return fmt.Errorf("not running: %s", line)
			}
			listed = append(listed, columns[0])
		}
		if len(listed) != size {
			return fmt.Errorf("%d pods, want %d: %q", len(listed), size, listed)
		}
		var status struct{ Nodes []string }
		if err := json.Unmarshal([]byte(c.types(t, getStatus)), &status); err != nil {
			return err
		}
		slices.Sort(listed)
		if !slices.Equal(status.Nodes, listed) {
			return fmt.Errorf("status.nodes is %q, the pods are %q", status.Nodes, listed)
		}
		return nil
	})
}

// Seed 000 builds, pushes and deploys the operator, and takes the sample through its
// life. It is not parallel to other tests because it replaces the operator.
func TestMemcachedSeed000(t *testing.T) {
	ns := newNamespace(t, restricted)
	// The seed's image is in a registry of the internet; the sandbox has Debian's.
	c := ns.terminal(t, "OPERATOR_IMG=nakamasato/memcached-operator:v0.0.1", "OPERATOR=memcached", "MEMCACHED_IMAGE="+memcachedImage)
	c.types(t, "make docker-build docker-push IMG=$OPERATOR_IMG")
	c.types(t, "make deploy IMG=$OPERATOR_IMG")
	c.sees(t, "kubectl get pod -n memcached-operator-system", `(?m)^memcached-operator-controller-manager-\S+ +1/1 +Running`)
	c.sees(t, "kubectl get pod -n memcached-operator-system -o yaml | grep ' image:'", "image: nakamasato/memcached-operator:v0.0.1")

	c.types(t, "kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml")
	c.sees(t, "kubectl get deploy", `(?m)^memcached-sample +3/3 +3 +3`)
	c.sees(t, operatorLogs, "Starting workers.*memcached")
	c.seesNodes(t, 3)

	c.types(t, `kubectl patch memcached memcached-sample -p '{"spec":{"size": 5}}' --type=merge`)
	c.sees(t, "kubectl get deploy", `(?m)^memcached-sample +5/5 +5 +5`)
	c.seesNodes(t, 5)

	c.types(t, "kubectl delete -f config/samples/cache_v1alpha1_memcached.yaml")
	assertNothingLeft(t, ns)
}

// Seed 001 adds a Service named after the resource that exposes its pods.
func TestMemcachedSeed001(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	c := ns.terminal(t)
	c.types(t, "make install OPERATOR=memcached")
	c.types(t, "kubectl apply -f config/samples/cache_v1alpha1_memcached.yaml")
	c.sees(t, "kubectl get service memcached-sample", `(?m)^memcached-sample +ClusterIP +None +<none> +11211/TCP`)
	c.seesNodes(t, 3)
	eventually(t, func() error {
		pods := strings.Fields(c.types(t, "kubectl get pods -o jsonpath='{.items[*].status.podIP}'"))
		exposed := endpoints(t, ns, "memcached-sample")
		slices.Sort(pods)
		if len(pods) != 3 || !slices.Equal(exposed, pods) {
			return fmt.Errorf("the Service exposes %q, the pods are at %q", exposed, pods)
		}
		return nil
	})
}

// Seed 002 goes from two nodes to three; its API group is our own domain here.
func TestMemcachedSeed002(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	c := ns.terminal(t)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata:
  name: memcached-sample
spec:
  size: 2
`)
	c.seesNodes(t, 2)
	before := strings.Fields(c.types(t, "kubectl get pod -o name"))
	c.types(t, `kubectl patch memcached memcached-sample -p '{"spec":{"size": 3}}' --type=merge`)
	c.seesNodes(t, 3)
	after := strings.Fields(c.types(t, "kubectl get pod -o name"))
	for _, pod := range before {
		if !slices.Contains(after, pod) {
			t.Errorf("%s is gone after a node was added", pod)
		}
	}
	if got := c.types(t, "kubectl get pod -l app=memcached,memcached_cr=memcached-sample -o jsonpath='{.items[*].spec.containers[*].name} {.items[*].spec.containers[*].ports[*].name}'"); got != "memcached memcached memcached memcached memcached memcached" {
		t.Errorf("containers and ports of the pods with the seed's labels are named %q", got)
	}
}

// Seed 003 names a port, and tells of conditions, a phase, events and a finalizer.
func TestMemcachedSeed003(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	c := ns.terminal(t)
	c.sees(t, "kubectl get crd", `(?m)^memcacheds\.cache\.example\.com +\d{4}-`)
	c.sees(t, "kubectl get crd memcacheds.cache.example.com -o yaml", `(?m)^ +containerPort:$`)
	const manifest = `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata:
  name: memcached-sample
spec:
  size: 3
  containerPort: 11211
`
	ns.apply(t, manifest)
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	ns.waitFor(t, "memcached/memcached-sample", "condition=Degraded=False")
	ns.waitFor(t, "memcached/memcached-sample", "jsonpath={.status.phase}=Running")
	c.seesNodes(t, 3)
	c.sees(t, "kubectl get memcached", `(?m)^memcached-sample +3/3 +Running +\S+ +memcached-sample\.`+ns.name+`\.svc:11211`)
	c.sees(t, "kubectl get events", `(?m)Normal +AllNodesReady +memcached/memcached-sample +All 3 nodes are ready`)
	c.sees(t, operatorLogs, `"worker count":([2-9]|[1-9]\d)`)

	ns.apply(t, strings.ReplaceAll(manifest, "11211", "11311"))
	ns.waitFor(t, "memcached/memcached-sample", "jsonpath={.status.observedGeneration}=2")
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	if got := c.types(t, "kubectl get deploy,service -o jsonpath='{.items[*].spec.template.spec.containers[*].ports[*].containerPort} {.items[*].spec.ports[*].port}'"); got != "11311 11311" {
		t.Errorf("the ports of container and Service are %q", got)
	}

	c.types(t, "kubectl delete memcached memcached-sample --timeout=1m")
	assertNothingLeft(t, ns)
}

// Seed 003 also lets the operator manage one namespace only. It is not parallel to
// other tests because the operator leaves them alone meanwhile.
func TestMemcachedSeed003OneNamespace(t *testing.T) {
	ns := newNamespace(t, restricted)
	other := namespace{ns.name + "-other"}
	createNamespace(t, other.name, restricted)
	o := operators[0]
	addArg := fmt.Sprintf(`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--watch-namespaces=%s"}]`, ns.name)
	reconfigure := func(patch string) {
		t.Helper()
		kubectl(t, "patch", "deployment", o.deployment, "-n", o.namespace, "--type=json", "-p", patch)
		kubectl(t, "rollout", "status", "deployment/"+o.deployment, "-n", o.namespace, "--timeout="+patience.String())
	}
	reconfigure(addArg)
	args := strings.Fields(kubectl(t, "get", "deployment", o.deployment, "-n", o.namespace, "-o", "jsonpath={.spec.template.spec.containers[0].args[*]}"))
	removeArg := fmt.Sprintf(`[{"op": "remove", "path": "/spec/template/spec/containers/0/args/%d"}]`, len(args)-1)
	removed := false
	t.Cleanup(func() {
		if !removed {
			reconfigure(removeArg)
		}
	})
	// The one before still acts everywhere until it is gone.
	eventually(t, func() error {
		if pods := strings.Fields(kubectl(t, "get", "pods", "-n", o.namespace, "-o", "name")); len(pods) != 1 {
			return fmt.Errorf("pods of the operator: %q", pods)
		}
		return nil
	})

	start := other.mark(t)
	for _, n := range []namespace{other, ns} {
		n.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	}
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	other.mark(t)
	if writes := readAudit(t, start).ofOperator(other); len(writes) > 0 {
		t.Errorf("in a namespace that is not watched the operator made %v", writes)
	}
	if got := other.kubectl(t, "get", "memcached", "memcached-sample", "-o", "jsonpath={.status}"); got != "" {
		t.Errorf("the status in a namespace that is not watched is %s", got)
	}
	assertNone(t, other, "deployment,service,pod")

	removed = true
	reconfigure(removeArg)
	other.waitFor(t, "memcached/memcached-sample", "condition=Available")
}
