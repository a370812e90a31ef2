// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestChildren(t *testing.T) {
	// Orphans come to this process as they do to process 1.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	children := Collect()

	t.Run("how they end", func(t *testing.T) {
		for script, want := range map[string]string{
			"exit 0":     "<nil>",
			"exit 3":     "exit status 3",
			"kill -9 $$": "killed by signal 9 (killed)",
		} {
			child, err := children.Start(exec.Command("sh", "-c", script))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(child.Wait()); got != want {
				t.Errorf("%s: %s, want %s", script, got, want)
			}
		}
	})

	t.Run("kill", func(t *testing.T) {
		child, err := children.Start(exec.Command("sleep", "60"))
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err == nil {
			t.Error("a killed child ended well")
		}
	})

	t.Run("orphans are collected", func(t *testing.T) {
		pidFile := filepath.Join(t.TempDir(), "pid")
		child, err := children.Start(exec.Command("sh", "-c", "sleep 0.2 & echo $! > "+pidFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err != nil {
			t.Fatal(err)
		}
		pid, err := os.ReadFile(pidFile)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			// A process that nobody collects stays in /proc as a zombie.
			if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); os.IsNotExist(err) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("the orphan was not collected")
			}
		}
	})
}
