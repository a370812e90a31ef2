// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for something that takes seconds on a
// quiet machine.
const patience = 2 * time.Minute

// A namespace is where one test works.
type namespace struct {
	name string
}

// Pod Security Standards that a namespace enforces. What runs images of ours or
// of memcached must do under the strictest; users' own images may need more.
const (
	restricted = "restricted"
	baseline   = "baseline"
)

// newNamespace makes a namespace for the test.
func newNamespace(t *testing.T, podSecurity string) namespace {
	t.Helper()
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	createNamespace(t, name, podSecurity)
	return namespace{name}
}

func createNamespace(t *testing.T, name, podSecurity string) {
	t.Helper()
	kubectl(t, "create", "namespace", name)
	t.Cleanup(func() { kubectl(t, "delete", "namespace", name, "--wait=false") })
	kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/enforce="+podSecurity)
}

// kubectl runs kubectl in the namespace and fails the test if it fails.
func (n namespace) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	return kubectl(t, append([]string{"--namespace", n.name}, args...)...)
}

// apply applies a manifest.
func (n namespace) apply(t *testing.T, manifest string) string {
	t.Helper()
	out, err := n.tryApply(manifest)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// tryApply applies a manifest that may be refused, and returns what kubectl said.
func (n namespace) tryApply(manifest string) (string, error) {
	cmd := exec.Command(filepath.Join(root, "bin/kubectl"), "--namespace", n.name, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(manifest)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// waitFor waits for a condition as `kubectl wait --for` writes it, of one object or of
// several ("memcached --all").
func (n namespace) waitFor(t *testing.T, objects, condition string) {
	t.Helper()
	args := append([]string{"--namespace", n.name, "wait", "--for=" + condition, "--timeout=" + patience.String()}, strings.Fields(objects)...)
	if out, err := command("bin/kubectl", args...); err != nil {
		state, _ := command("bin/kubectl", "--namespace", n.name, "get", "memcached,maintpage,deployment,service,pod", "-o", "wide")
		status, _ := command("bin/kubectl", "--namespace", n.name, "get", strings.Fields(objects)[0], "-o", "jsonpath={.status}")
		t.Fatalf("%v\n%s\n%s\n%s", err, out, status, state)
	}
}

// assertNone checks that there is nothing of some kinds.
func assertNone(t *testing.T, n namespace, kinds string) {
	t.Helper()
	if left := n.kubectl(t, "get", kinds, "--ignore-not-found", "-o", "name"); left != "" {
		t.Errorf("there should be nothing in %s, and there is:\n%s", n.name, left)
	}
}

// assertNothingLeft waits until everything is gone that the operators and the
// controllers behind them make.
func assertNothingLeft(t *testing.T, n namespace) {
	t.Helper()
	const kinds = "deployment,statefulset,replicaset,service,endpointslice,poddisruptionbudget,networkpolicy,pod"
	eventually(t, func() error {
		if left := n.kubectl(t, "get", kinds, "--ignore-not-found", "-o", "name"); left != "" {
			return fmt.Errorf("left in %s:\n%s", n.name, left)
		}
		return nil
	})
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command("bin/kubectl", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually waits until check finds nothing to complain about.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v: %v", patience, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// endpoints are the ready addresses that a Service leads to, sorted.
func endpoints(t *testing.T, n namespace, service string) []string {
	t.Helper()
	addresses := strings.Fields(n.kubectl(t, "get", "endpointslices", "-l", "kubernetes.io/service-name="+service,
		"-o", "jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].addresses[*]}"))
	slices.Sort(addresses)
	return addresses
}

// sample reads a file of config/samples.
func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config/samples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
