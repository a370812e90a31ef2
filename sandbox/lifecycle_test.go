// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/example/web-operators/sandbox/internal/cgroup"
	"github.com/example/web-operators/sandbox/internal/cluster"
)

// These tests start real clusters with the program that `make` has built, so
// they need root and the components in the cache.

func sandbox(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := filepath.Abs("../bin/sandbox")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v (make bin/sandbox builds it)", err)
	}
	return exec.Command(program, append([]string{"-dir", dir}, args...)...)
}

func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// host is what a cluster could leave behind on the machine.
type host struct {
	mounts, interfaces, varLib, varLog []string
}

func lookAtHost(t *testing.T) host {
	t.Helper()
	var h host
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	h.mounts = strings.Split(string(mounts), "\n")
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		h.interfaces = append(h.interfaces, l.Attrs().Name)
	}
	for path, names := range map[string]*[]string{"/var/lib": &h.varLib, "/var/log": &h.varLog} {
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			*names = append(*names, e.Name())
		}
	}
	return h
}

// processesOf lists the running processes of a cluster: the supervisor and all
// that descend from it, by number and arguments.
func processesOf(t *testing.T, dir string) map[int]string {
	t.Helper()
	children := map[int][]int{}
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		stat, err := os.ReadFile(p + "/stat")
		if err != nil {
			continue // it has ended
		}
		// The name stands in parentheses and may have any character in it.
		var state string
		var parent, pid int
		if _, err := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
			t.Fatal(err)
		}
		fmt.Sscan(filepath.Base(p), &pid) //nolint:errcheck // the pattern above has digits only
		children[parent] = append(children[parent], pid)
	}
	found := map[int]string{}
	var add func(pid int)
	add = func(pid int) {
		found[pid] = arguments(pid)
		for _, child := range children[pid] {
			add(child)
		}
	}
	add(supervisorPID(t, dir))
	return found
}

func arguments(pid int) string {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(line, []byte{0}, []byte(" ")))
}

// assertEnded fails if one of the processes runs on.
func assertEnded(t *testing.T, processes map[int]string) {
	t.Helper()
	wait(t, 10*time.Second, func() error {
		var running []string
		for pid, args := range processes {
			if args != "" && arguments(pid) == args {
				running = append(running, args)
			}
		}
		if len(running) > 0 {
			return fmt.Errorf("still running:\n%s", strings.Join(running, "\n"))
		}
		return nil
	})
}

// assertRuns makes sure that the list of processes would show what may be left.
func assertRuns(t *testing.T, processes map[int]string, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if !slices.ContainsFunc(slices.Collect(maps.Values(processes)), func(args string) bool { return strings.Contains(args, program) }) {
			t.Errorf("no %s among the cluster's processes", program)
		}
	}
}

func assertHostUnchanged(t *testing.T, before host) {
	t.Helper()
	after := lookAtHost(t)
	for what, pair := range map[string][2][]string{
		"mounts":     {before.mounts, after.mounts},
		"interfaces": {before.interfaces, after.interfaces},
		"/var/lib":   {before.varLib, after.varLib},
		"/var/log":   {before.varLog, after.varLog},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s changed\nbefore: %q\nafter:  %q", what, pair[0], pair[1])
		}
	}
}

func cgroupsOf(t *testing.T, dir string) []string {
	t.Helper()
	tree, err := cgroup.Host()
	if err != nil {
		t.Fatal(err)
	}
	left, err := tree.Left(cluster.Layout{Dir: dir}.CgroupGroup())
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func supervisorPID(t *testing.T, dir string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "supervisor.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func wait(t *testing.T, limit time.Duration, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %v: %v", limit, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// down is for cleaning up after a failed test.
func down(t *testing.T, dir string) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			said, err := os.ReadFile(filepath.Join(dir, "logs", "supervisor.log"))
			t.Logf("the supervisor of %s said (%v):\n%s", dir, err, said)
		}
		if out, err := sandbox(t, dir, "down").CombinedOutput(); err != nil {
			t.Errorf("cleaning up: %v\n%s", err, out)
		}
	})
}

func TestDownLeavesNothing(t *testing.T) {
	before := lookAtHost(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	down(t, dir)
	must(t, sandbox(t, dir, "up", "-nodes", "2"))
	if len(cgroupsOf(t, dir)) == 0 {
		t.Error("a running cluster has no cgroup: the check below would see nothing")
	}
	if got := kubectl(t, dir, "get", "nodes", "-o", "name"); got != "node/node1\nnode/node2\n" {
		t.Errorf("nodes: %q", got)
	}
	if out := must(t, sandbox(t, dir, "up")); !strings.Contains(out, "a cluster is running") {
		t.Errorf("starting twice: %s", out)
	}
	processes := processesOf(t, dir)
	assertRuns(t, processes, "etcd", "kubelet", "containerd-shim", "coredns", "pause")
	must(t, sandbox(t, dir, "down"))
	assertEnded(t, processes)
	assertHostUnchanged(t, before)
	if left := cgroupsOf(t, dir); len(left) > 0 {
		t.Errorf("cgroups left: %q", left)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
}

func TestKilledSupervisorLeavesNothingRunning(t *testing.T) {
	before := lookAtHost(t)
	dir := filepath.Join(t.TempDir(), "cluster")
	down(t, dir)
	must(t, sandbox(t, dir, "up"))
	processes := processesOf(t, dir)
	assertRuns(t, processes, "etcd", "kubelet", "containerd-shim", "coredns", "pause")
	if err := syscall.Kill(supervisorPID(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	assertEnded(t, processes)
	assertHostUnchanged(t, before)
	// The directory of a crashed cluster is in nobody's way.
	must(t, sandbox(t, dir, "up"))
}

func TestKilledStartLeavesNothingRunning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	down(t, dir)
	start := sandbox(t, dir, "up")
	if err := start.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, 20*time.Second, func() error {
		_, err := os.Stat(filepath.Join(dir, "logs", "kube-apiserver.log"))
		return err
	})
	processes := processesOf(t, dir)
	assertRuns(t, processes, "kube-apiserver")
	if err := start.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	start.Wait() //nolint:errcheck // it was killed
	assertEnded(t, processes)
}

func TestDeadComponentIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	down(t, dir)
	must(t, sandbox(t, dir, "up"))
	processes := processesOf(t, dir)
	for pid, args := range processes {
		if strings.Contains(args, "kube-scheduler") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait(t, 10*time.Second, func() error {
		out, err := sandbox(t, dir, "status").CombinedOutput()
		if err == nil {
			return errors.New("still running")
		}
		if want := "kube-scheduler has ended: killed by signal 9 (killed); its log is " + dir + "/logs/kube-scheduler.log"; !strings.Contains(string(out), want) {
			t.Fatalf("status says:\n%s\nwant: %s", out, want)
		}
		return nil
	})
	assertEnded(t, processes)
}

func TestClustersSideBySideAndNodeLoss(t *testing.T) {
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	down(t, one)
	down(t, two)
	must(t, sandbox(t, one, "up", "-nodes", "2"))
	must(t, sandbox(t, two, "up"))

	must(t, sandbox(t, one, "node", "down", "2"))
	kubectl(t, one, "wait", "--for=condition=Ready=Unknown", "--timeout=60s", "node/node2")
	kubectl(t, one, "wait", "--for=condition=Ready", "--timeout=30s", "node/node1")
	must(t, sandbox(t, one, "node", "up", "2"))
	kubectl(t, one, "wait", "--for=condition=Ready", "--timeout=60s", "node/node2")
	if out, err := sandbox(t, one, "node", "up", "2").CombinedOutput(); err == nil {
		t.Errorf("bringing up a node that is up: %s", out)
	}

	// A power cut that is over at once.
	for range 3 {
		must(t, sandbox(t, one, "node", "down", "2"))
		must(t, sandbox(t, one, "node", "up", "2"))
	}
	kubectl(t, one, "wait", "--for=condition=Ready", "--timeout=60s", "node/node2")

	must(t, sandbox(t, one, "down"))
	if got := kubectl(t, two, "get", "--raw", "/readyz"); got != "ok" {
		t.Errorf("the other cluster says %q", got)
	}
}

// A user's image names are pulled from the sandbox's registry, and one that is
// not there fails as it would anywhere.
func TestRunWithImages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cluster")
	down(t, dir)
	script := fmt.Sprintf(`set -e
image=$(%[1]s -dir %[2]s image memcached)
kubectl create deployment cache --image=$image
kubectl rollout status deployment/cache --timeout=60s
kubectl exec deployment/cache -- memcached -V
kubectl logs deployment/cache
kubectl run missing --image=quay.io/nobody/nothing:1
kubectl wait pod/missing --for=jsonpath='{.status.containerStatuses[0].state.waiting.reason}'=ErrImagePull --timeout=30s
`, sandbox(t, dir).Path, dir)
	run := sandbox(t, dir, "run", "--", "sh", "-c", script)
	kubectl := strings.TrimSpace(must(t, sandbox(t, dir, "path", "kubectl")))
	run.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	if out := must(t, run); !strings.Contains(out, "memcached 1.") {
		t.Errorf("memcached did not tell its version:\n%s", out)
	}
	failing := sandbox(t, dir, "run", "--", "sh", "-c", "exit 7")
	failing.Run() //nolint:errcheck // the exit code is what is looked at
	if got := failing.ProcessState.ExitCode(); got != 7 {
		t.Errorf("sandbox run exits with %d, its command with 7", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "logs", "kube-apiserver.log")); err != nil {
		t.Errorf("the logs of a failed run are gone: %v", err)
	}
	if left := cgroupsOf(t, dir); len(left) > 0 {
		t.Errorf("cgroups left: %q", left)
	}
}

func kubectl(t *testing.T, dir string, args ...string) string {
	t.Helper()
	program := strings.TrimSpace(must(t, sandbox(t, dir, "path", "kubectl")))
	return must(t, exec.Command(program, append([]string{"--kubeconfig", filepath.Join(dir, "kubeconfig")}, args...)...))
}
