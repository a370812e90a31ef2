// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cgroup gives each node a control group of its own below one group of
// the cluster, on cgroup v1 and v2. Without it two kubelets on one machine
// would both manage /kubepods and remove each other's pods.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const mountPoint = "/sys/fs/cgroup"

// A Tree is a machine's control group hierarchies.
type Tree struct {
	root    string
	unified bool
}

// Host returns this machine's.
func Host() (Tree, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(mountPoint, &st); err != nil {
		return Tree{}, fmt.Errorf("looking for cgroups: %w", err)
	}
	return Tree{mountPoint, st.Type == unix.CGROUP2_SUPER_MAGIC}, nil
}

// Version is 1 or 2.
func (t Tree) Version() int {
	if t.unified {
		return 2
	}
	return 1
}

// hierarchies are the directories in which a group exists: one on v2, one for
// each mounted controller on v1. A hybrid machine has the v2 hierarchy beside
// the others, and the container runtime makes its groups there as well.
func (t Tree) hierarchies() ([]string, error) {
	if t.unified {
		return []string{t.root}, nil
	}
	entries, err := os.ReadDir(t.root)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, e := range entries {
		dir := filepath.Join(t.root, e.Name())
		if exists(filepath.Join(dir, "cgroup.procs")) {
			dirs = append(dirs, dir)
		}
	}
	return dirs, nil
}

// Make makes the group, a path such as "cluster/node1", with every controller
// usable by the groups inside it.
func (t Tree) Make(group string) error {
	dirs, err := t.hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range dirs {
		dir := hierarchy
		for _, part := range strings.Split(group, "/") {
			if err := t.prepareParent(dir); err != nil {
				return err
			}
			parent := dir
			dir = filepath.Join(dir, part)
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := inheritCPUs(parent, dir); err != nil {
				return err
			}
		}
		if err := t.prepareParent(dir); err != nil {
			return err
		}
	}
	return nil
}

// prepareParent hands a v2 group's controllers down to its children; v1 does so by itself.
func (t Tree) prepareParent(dir string) error {
	if !t.unified {
		return nil
	}
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, c := range strings.Fields(string(controllers)) {
		// One at a time: a single refusal would refuse them all.
		if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644); err != nil && needed(c) {
			return fmt.Errorf("enabling the cgroup controller %s in %s: %w", c, dir, err)
		}
	}
	return nil
}

func needed(controller string) bool {
	switch controller {
	case "cpu", "cpuset", "memory", "pids":
		return true
	}
	return false
}

// inheritCPUs copies the processors and memory nodes into a new v1 cpuset
// group, which otherwise has none and refuses every process.
func inheritCPUs(parent, dir string) error {
	if !exists(filepath.Join(dir, "cpuset.clone_children")) {
		return nil // another controller's hierarchy, or v2
	}
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), value, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Remove removes the group and all groups inside it. The kernel lets go of a
// killed process a moment after its parent was told, so it is tried until a deadline.
func (t Tree) Remove(group string) error {
	dirs, err := t.hierarchies()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, hierarchy := range dirs {
		for {
			err := removeTree(filepath.Join(hierarchy, group))
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("removing the cgroup %s: %w", group, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// removeTree removes directories only: a group's files are the kernel's.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Left lists the directories of a group that exist, for tests and reports.
func (t Tree) Left(group string) ([]string, error) {
	dirs, err := t.hierarchies()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, hierarchy := range dirs {
		if dir := filepath.Join(hierarchy, group); exists(dir) {
			left = append(left, dir)
		}
	}
	return left, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
