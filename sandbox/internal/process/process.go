// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package process starts programs from a process that is number 1 of its PID
// namespace.
//
// Why not exec.Cmd alone? Number 1 inherits every orphan of its namespace, a
// container shim for each pod that ever ran, and must collect them when they
// end or the process table fills up. Collecting means wait4(-1), which also
// takes the exit statuses that exec.Cmd.Wait is waiting for. So one loop
// collects everything and hands the statuses of our own children to whoever
// started them.
package process

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"
)

// Children are the programs started by this process.
type Children struct {
	mu      sync.Mutex
	waiting map[int]chan unix.WaitStatus
}

// A Child is a program that runs.
type Child struct {
	Pid   int
	ended chan unix.WaitStatus
}

// Collect begins to collect ended processes. A process calls it once.
func Collect() *Children {
	c := &Children{waiting: map[int]chan unix.WaitStatus{}}
	// The signal is asked for before the first child exists, so none is missed.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			c.collect()
		}
	}()
	return c
}

func (c *Children) collect() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		c.mu.Lock()
		if ended, ours := c.waiting[pid]; ours {
			ended <- status
			delete(c.waiting, pid)
		}
		c.mu.Unlock()
	}
}

// Start starts the command, whose outputs must be files. Its Wait must not be
// called; Child.Wait takes its place.
func (c *Children) Start(cmd *exec.Cmd) (*Child, error) {
	// The lock is held until the child is known: it may end before Start returns.
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	child := &Child{cmd.Process.Pid, make(chan unix.WaitStatus, 1)}
	c.waiting[child.Pid] = child.ended
	return child, nil
}

// Wait returns when the program has ended, with how it ended.
func (c *Child) Wait() error {
	status := <-c.ended
	switch {
	case status.Signaled():
		return fmt.Errorf("killed by signal %d (%v)", status.Signal(), status.Signal())
	case status.ExitStatus() != 0:
		return fmt.Errorf("exit status %d", status.ExitStatus())
	}
	return nil
}

// Kill ends the program at once.
func (c *Child) Kill() error { return unix.Kill(c.Pid, unix.SIGKILL) }
