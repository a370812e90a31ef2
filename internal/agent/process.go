// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processes are those of the pod, which its containers share.
type processes struct {
	root, name string
}

// hangUp tells the processes of the name to read their users again.
func (p processes) hangUp() error {
	entries, err := os.ReadDir(p.root)
	if err != nil {
		return err
	}
	told := 0
	var failed []error
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A handle first: the number may be another process's by the time of the signal.
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if p.listens(pid) {
			told++
			failed = append(failed, process.Signal(syscall.SIGHUP))
		}
		failed = append(failed, process.Release())
	}
	if told == 0 {
		failed = append(failed, fmt.Errorf("no process %s is ready for a signal", p.name))
	}
	return errors.Join(failed...)
}

// listens reports whether a process has the name and has made itself ready for the
// signal, which would end it before.
func (p processes) listens(pid int) bool {
	directory := filepath.Join(p.root, strconv.Itoa(pid))
	name, err := os.ReadFile(filepath.Join(directory, "comm"))
	if err != nil || strings.TrimSpace(string(name)) != p.name {
		return false
	}
	status, err := os.ReadFile(filepath.Join(directory, "status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		mask, ok := strings.CutPrefix(line, "SigCgt:")
		if !ok {
			continue
		}
		caught, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		return err == nil && caught&(1<<(syscall.SIGHUP-1)) != 0
	}
	return false
}
