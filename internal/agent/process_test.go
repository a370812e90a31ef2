// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// childVariable makes this program the other process of a test.
const childVariable = "AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	fmt.Println("ready")
	<-signals
	fmt.Println("hung up")
}

// start runs a program under another name, and returns what it says line by line.
func start(t *testing.T, program, name string, args ...string) *bufio.Reader {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(program, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	return bufio.NewReader(out)
}

func TestHangUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const name = "fake-memcached"
	all := processes{root: "/proc", name: name}
	if err := all.hangUp(); err == nil || !strings.Contains(err.Error(), "no process fake-memcached") {
		t.Errorf("without a process: %v", err)
	}
	said := start(t, self, name)
	start(t, self, name+"x") // another name
	if line, err := said.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := all.hangUp(); err != nil {
		t.Fatal(err)
	}
	if line, err := said.ReadString('\n'); err != nil || line != "hung up\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// A memcached that has just started does not listen to the signal yet, and would end.
func TestUnpreparedProcessesAreSpared(t *testing.T) {
	root := t.TempDir()
	write := func(pid, comm, status string) {
		t.Helper()
		directory := filepath.Join(root, pid)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{"comm": comm + "\n", "status": status} {
			if err := os.WriteFile(filepath.Join(directory, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("1", "pause", "SigCgt:\t0000000000000001\n")
	write("10", "memcached", "Name:\tmemcached\nSigCgt:\t0000000000004002\n")
	write("11", "memcached", "Name:\tmemcached\n")
	write("12", "memcached", "SigCgt:\tnonsense\n")
	write("13", "memcached", "Name:\tmemcached\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000004001\n")
	p := processes{root: root, name: "memcached"}
	for pid, want := range map[int]bool{1: false, 10: false, 11: false, 12: false, 13: true, 14: false} {
		if got := p.listens(pid); got != want {
			t.Errorf("process %d: %v", pid, got)
		}
	}
}
