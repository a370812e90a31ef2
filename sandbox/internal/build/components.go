// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build makes the programs of a Kubernetes cluster from their Go
// modules, each at the version its go.mod pins and go.sum verifies, and keeps
// the result outside the clone so that it is made once on a machine.
package build

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"

	"golang.org/x/mod/modfile"
)

// A Component is one upstream project, built from one directory below
// sandbox/components.
type Component struct {
	Name   string
	module string // the module whose version is the component's version
	// output is the file the build writes; empty where the module has several
	// programs, which then keep the names of their packages.
	output   string
	packages string // what `go build` is given
	tags     string
	cgo      bool
	ldflags  func(version string) string
	// after runs in the output directory once the programs are built.
	after func(c Component, source, out string) error
}

var components = []Component{
	{Name: "etcd", module: "go.etcd.io/etcd/server/v3", output: "etcd", packages: "tool"},
	{Name: "kubernetes", module: "k8s.io/kubernetes", packages: "tool", ldflags: kubernetesVersion, after: buildPause},
	// btrfs would need its C headers; the sandbox uses overlayfs.
	{Name: "containerd", module: "github.com/containerd/containerd/v2", packages: "tool", tags: "no_btrfs"},
	// Without seccomp the kubelet's RuntimeDefault profile is refused and no pod starts.
	{Name: "runc", module: "github.com/opencontainers/runc", output: "runc", packages: "tool", tags: "seccomp", cgo: true},
	{Name: "cni-plugins", module: "github.com/containernetworking/plugins", packages: "tool"},
	{Name: "coredns", module: "github.com/coredns/coredns", output: "coredns", packages: "."},
}

// kubernetesVersion stamps what `kubectl version` and the node's status show;
// without it they say v0.0.0-master and clients refuse to compare versions.
func kubernetesVersion(version string) string {
	var major, minor, patch int
	fmt.Sscanf(version, "v%d.%d.%d", &major, &minor, &patch) //nolint:errcheck // a wrong stamp shows at once
	const pkg = "k8s.io/component-base/version."
	return fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=%d -X %sgitMinor=%d", pkg, version, pkg, major, pkg, minor)
}

// version reads the pinned version from the component's go.mod.
func (c Component) version(source string) (string, error) {
	path := filepath.Join(source, c.Name, "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	mod, err := modfile.ParseLax(path, data, nil)
	if err != nil {
		return "", err
	}
	for _, r := range mod.Require {
		if r.Mod.Path == c.module {
			return r.Mod.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", path, c.module)
}

// directory names the place of the built component inside the cache. Whatever
// can change the programs is part of the name, so an entry never goes stale.
func (c Component) directory(source string) (string, error) {
	version, err := c.version(source)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(source, c.Name, "*"))
	if err != nil {
		return "", err
	}
	sort.Strings(files)
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOARCH, c.arguments(version, "out"), c.cgo)
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, filepath.Base(f), len(data))
		h.Write(data)
	}
	return fmt.Sprintf("%s-%s-%x", c.Name, version, h.Sum(nil)[:4]), nil
}

// arguments are those of the `go` command that builds the component into out.
// -trimpath makes the compile cache serve any clone of the repository.
func (c Component) arguments(version, out string) []string {
	ldflags := "-s -w"
	if c.ldflags != nil {
		ldflags += " " + c.ldflags(version)
	}
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", ldflags}
	if c.tags != "" {
		args = append(args, "-tags", c.tags)
	}
	return append(args, "-o", out+string(filepath.Separator)+c.output, c.packages)
}
