// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// The kernel's own files are stood in for by plain ones here; the lifecycle
// tests of the sandbox use the real hierarchies of the machine.

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVersion2HandsControllersDown(t *testing.T) {
	root := t.TempDir()
	tree := Tree{root, true}
	for _, dir := range []string{"", "cluster", "cluster/node1"} {
		write(t, filepath.Join(root, dir, "cgroup.controllers"), "memory\n")
	}
	if err := tree.Make("cluster/node1"); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "cluster", "cluster/node1"} {
		got, err := os.ReadFile(filepath.Join(root, dir, "cgroup.subtree_control"))
		if err != nil || string(got) != "+memory" {
			t.Errorf("%q: subtree_control is %q (%v)", dir, got, err)
		}
	}
}

func TestVersion1MakesTheGroupInEveryHierarchy(t *testing.T) {
	root := t.TempDir()
	tree := Tree{root, false}
	for _, controller := range []string{"cpu", "memory", "unified"} {
		write(t, filepath.Join(root, controller, "cgroup.procs"), "")
	}
	write(t, filepath.Join(root, "not-a-hierarchy", "file"), "")
	if err := tree.Make("cluster/node1"); err != nil {
		t.Fatal(err)
	}
	left, err := tree.Left("cluster/node1")
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 3 {
		t.Errorf("the group exists in %q", left)
	}
	if err := tree.Remove("cluster"); err != nil {
		t.Fatal(err)
	}
	if left, err := tree.Left("cluster"); err != nil || len(left) != 0 {
		t.Errorf("left after removal: %q (%v)", left, err)
	}
}

func TestRemoveOfNothing(t *testing.T) {
	tree := Tree{t.TempDir(), true}
	if err := tree.Remove("cluster"); err != nil {
		t.Error(err)
	}
}
