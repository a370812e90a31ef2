// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	kubectl(t, "create", "namespace", name)
	t.Cleanup(func() { kubectl(t, "delete", "namespace", name, "--wait=false") })
	kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/enforce="+podSecurity)
	return namespace{name}
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

// waitFor waits for a condition as `kubectl wait --for` writes it.
func (n namespace) waitFor(t *testing.T, object, condition string) {
	t.Helper()
	if out, err := command("bin/kubectl", "--namespace", n.name, "wait", "--for="+condition, "--timeout="+patience.String(), object); err != nil {
		state, _ := command("bin/kubectl", "--namespace", n.name, "get", "memcached,maintpage,deployment,service,pod", "-o", "wide")
		status, _ := command("bin/kubectl", "--namespace", n.name, "get", object, "-o", "jsonpath={.status}")
		t.Fatalf("%v\n%s\n%s\n%s", err, out, status, state)
	}
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

// sample reads a file of config/samples.
func sample(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "config/samples", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
