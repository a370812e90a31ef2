// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// MemcachedRepository is the name that the official image has.
const MemcachedRepository = "docker.io/library/memcached"

// Memcached is an image recipe of Debian's memcached, and its version. The
// package is unpacked below cache, never installed: installing it would start
// a memcached on the user's machine.
func Memcached(cache string) (recipe Recipe, version string, err error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return Recipe{}, "", errors.New("the memcached image is made from Debian's package, and this machine has no apt-get; " +
			"save the official image elsewhere (docker save) and push it with: bin/sandbox image push FILE " + MemcachedRepository + ":TAG")
	}
	version, err = candidate("memcached")
	if err != nil {
		return Recipe{}, "", err
	}
	root := filepath.Join(cache, "memcached-"+version)
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		if err := unpack("memcached", root); err != nil {
			return Recipe{}, "", err
		}
	}
	const program = "/usr/bin/memcached"
	files := map[string]string{}
	if err := addProgram(root, program, files); err != nil {
		return Recipe{}, "", err
	}
	// 1:1.6.18-1+deb12u1 is memcached 1.6.18.
	_, upstream, found := strings.Cut(version, ":")
	if !found {
		upstream = version
	}
	upstream, _, _ = strings.Cut(upstream, "-")
	return Recipe{
		Files:      files,
		Entrypoint: []string{program},
		User:       "11211:11211",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "memcached",
			"org.opencontainers.image.version":     upstream,
			"org.opencontainers.image.description": "memcached " + version + " as packaged by Debian",
		},
	}, upstream, nil
}

// candidate asks apt for the version it would install, with the package lists
// fetched first where a new machine has none.
func candidate(pkg string) (string, error) {
	for _, update := range []bool{false, true} {
		if update {
			if said, err := exec.Command("apt-get", "update", "-q").CombinedOutput(); err != nil {
				return "", fmt.Errorf("apt-get update: %w\n%s", err, said)
			}
		}
		out, err := exec.Command("apt-cache", "show", "--no-all-versions", pkg).Output()
		for _, line := range strings.Split(string(out), "\n") {
			if version, ok := strings.CutPrefix(line, "Version: "); ok && err == nil {
				return version, nil
			}
		}
	}
	return "", fmt.Errorf("apt knows no package %s", pkg)
}

// unpack downloads a package and the libraries it needs, and unpacks them into root.
func unpack(pkg, root string) error {
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(root), ".unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	depends := exec.Command("apt-cache", "depends", "--recurse", "--important", "--no-conflicts", "--no-breaks", "--no-replaces", pkg)
	list, err := depends.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", depends, err)
	}
	packages := []string{pkg}
	for _, line := range strings.Split(string(list), "\n") {
		// The first column names real packages; of these only libraries count,
		// the rest serves the installation.
		if strings.HasPrefix(line, "lib") {
			packages = append(packages, line)
		}
	}
	download := exec.Command("apt-get", append([]string{"download", "-q"}, packages...)...)
	download.Dir = tmp
	if said, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get download %s: %w\n%s", strings.Join(packages, " "), err, said)
	}
	debs, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if said, err := exec.Command("dpkg-deb", "--extract", deb, filepath.Join(tmp, "root")).CombinedOutput(); err != nil {
			return fmt.Errorf("unpacking %s: %w\n%s", filepath.Base(deb), err, said)
		}
	}
	return os.Rename(filepath.Join(tmp, "root"), root)
}

// addProgram adds a program below root to files, with its loader and every
// library that it or one of them is linked to.
func addProgram(root, path string, files map[string]string) error {
	if _, have := files[path]; have {
		return nil
	}
	source, err := below(root, path)
	if err != nil {
		return err
	}
	files[path] = source
	object, err := elf.Open(source)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	defer object.Close()
	for _, p := range object.Progs {
		if p.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(p.Open())
			if err != nil {
				return err
			}
			if err := addProgram(root, string(bytes.TrimRight(loader, "\x00")), files); err != nil {
				return err
			}
		}
	}
	libraries, err := object.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if err := addLibrary(root, library, files); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func addLibrary(root, library string, files map[string]string) error {
	for _, pattern := range []string{"/lib/*-linux-gnu*/", "/usr/lib/*-linux-gnu*/", "/lib64/", "/lib/"} {
		found, err := filepath.Glob(filepath.Join(root, pattern, library))
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return addProgram(root, strings.TrimPrefix(found[0], root), files)
		}
	}
	return fmt.Errorf("library %s is in none of the unpacked packages", library)
}

// below resolves a path's symbolic links as a process with this root would.
func below(root, path string) (string, error) {
	for range 10 {
		full := filepath.Join(root, path)
		target, err := os.Readlink(full)
		if err != nil {
			_, err := os.Stat(full)
			return full, err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}
