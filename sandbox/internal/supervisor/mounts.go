// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mountNode puts directories of the node's own over the paths that its
// components are bound to, so that nodes do not meet in them and the host
// keeps its own. What a machine keeps over a reboot is stored in data, the
// rest is in memory.
func mountNode(data string) error {
	if err := unix.Mount("tmpfs", "/run", "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting /run: %w", err)
	}
	if err := mountStored(data, "log", "/var/log"); err != nil {
		return err
	}
	if err := shadow("/var/lib", filepath.Join(data, "var-lib")); err != nil {
		return err
	}
	for _, name := range []string{"kubelet", "containerd", "cni"} {
		if err := mountStored(data, name, "/var/lib/"+name); err != nil {
			return err
		}
	}
	// Mounts made here must reach the mount namespaces of containers: volumes
	// below the one, pods' network namespaces below the other.
	for _, path := range []string{"/var/lib/kubelet", "/run"} {
		if err := unix.Mount("", path, "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
			return fmt.Errorf("sharing the mounts below %s: %w", path, err)
		}
	}
	return nil
}

func mountStored(data, name, path string) error {
	stored := filepath.Join(data, name)
	for _, dir := range []string{stored, path} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount(stored, path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", path, err)
	}
	return nil
}

// shadow replaces dir by a copy in memory whose subdirectories are the host's,
// so that a new one can be made in it without appearing on the host. (A plain
// empty mount would hide a clone that lives below dir, as CI users' do.)
func shadow(dir, scratch string) error {
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", scratch, "tmpfs", 0, "mode=0755"); err != nil {
		return fmt.Errorf("mounting %s: %w", scratch, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		from, to := filepath.Join(dir, e.Name()), filepath.Join(scratch, e.Name())
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", to, err)
		}
	}
	if err := unix.Mount(scratch, dir, "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", dir, err)
	}
	return nil
}
