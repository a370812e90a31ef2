// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/cgroup"
)

// lock makes the directory and takes it for a cluster. The lock is on the
// directory itself and the kernel lets go of it when its holder ends, so it
// tells the truth where a file with a process number may not.
func (l Layout) lock() (*os.File, error) {
	for {
		if err := os.MkdirAll(l.Dir, 0o755); err != nil {
			return nil, err
		}
		dir, err := os.Open(l.Dir)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			dir.Close()
			return nil, ErrRunning
		}
		if err != nil {
			dir.Close()
			return nil, err
		}
		// Somebody may have removed the directory before we had the lock.
		locked, err := dir.Stat()
		if err != nil {
			dir.Close()
			return nil, err
		}
		if now, err := os.Stat(l.Dir); err == nil && os.SameFile(locked, now) {
			return dir, nil
		}
		dir.Close()
	}
}

// IsRunning tells whether a cluster runs in the directory.
func (l Layout) IsRunning() bool {
	dir, err := os.Open(l.Dir)
	if err != nil {
		return false
	}
	defer dir.Close()
	return errors.Is(unix.Flock(int(dir.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Down ends the cluster of a directory and removes what it has left, also what
// one that crashed has left.
func Down(l Layout) error {
	if _, err := os.Stat(l.Dir); errors.Is(err, fs.ErrNotExist) {
		return l.removeCgroups()
	}
	if l.IsRunning() {
		if err := l.kill(); err != nil {
			return err
		}
	}
	lock, err := l.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	return l.remove()
}

// kill ends the supervisor and returns when the kernel has ended all that ran
// in its PID namespace.
func (l Layout) kill() error {
	text, err := os.ReadFile(l.pid())
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", l.pid(), err)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// remove removes the directory and the control groups of a cluster that has ended.
func (l Layout) remove() error {
	return errors.Join(l.removeCgroups(), os.RemoveAll(l.Dir))
}

// clear removes what is in the directory but leaves it there, for somebody who
// holds the lock on it or wants to keep some of it.
func (l Layout) clear(keep ...string) error {
	entries, err := os.ReadDir(l.Dir)
	if err != nil {
		return err
	}
	errs := []error{l.removeCgroups()}
	for _, e := range entries {
		if !slices.Contains(keep, e.Name()) {
			errs = append(errs, os.RemoveAll(filepath.Join(l.Dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

func (l Layout) removeCgroups() error {
	tree, err := cgroup.Host()
	if err != nil {
		return err
	}
	return tree.Remove(l.CgroupGroup())
}
