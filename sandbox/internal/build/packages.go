// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A systemPackage is something the machine must bring because no Go module has it.
type systemPackage struct {
	debian string
	what   string // what it is for, in a user's words
	there  func() bool
}

func program(name string) func() bool {
	return func() bool {
		_, err := exec.LookPath(name)
		return err == nil
	}
}

func library(name string) func() bool {
	return func() bool { return exec.Command("pkg-config", "--exists", name).Run() == nil }
}

var (
	buildPackages = []systemPackage{
		{"gcc", "a C compiler, for runc and pause", program("gcc")},
		{"libc6-dev", "C headers, for runc and pause", func() bool { return exists("/usr/include/stdlib.h") }},
		{"pkg-config", "pkg-config, to find libseccomp", program("pkg-config")},
		{"libseccomp-dev", "libseccomp's headers, for runc", library("libseccomp")},
	}
	runPackages = []systemPackage{
		{"nftables", "the nft program, for kube-proxy", program("nft")},
	}
)

// NeedRunPackages makes sure that what a running cluster needs is there.
func NeedRunPackages(out io.Writer) error { return needPackages(runPackages, out) }

// needPackages installs what is missing when it can, and otherwise says in one
// line what to install.
func needPackages(packages []systemPackage, out io.Writer) error {
	var names, reasons []string
	for _, p := range packages {
		if !p.there() {
			names, reasons = append(names, p.debian), append(reasons, p.what)
		}
	}
	if len(names) == 0 {
		return nil
	}
	fmt.Fprintf(out, "missing on this machine: %s\n", strings.Join(reasons, "; "))
	if os.Geteuid() != 0 || !program("apt-get")() {
		return fmt.Errorf("install these packages (their Debian names) and try again: %s", strings.Join(names, " "))
	}
	fmt.Fprintf(out, "installing %s\n", strings.Join(names, " "))
	if err := aptGet("install", append([]string{"--no-install-recommends"}, names...)...); err != nil {
		// The package lists of a new machine are empty or old.
		if err := aptGet("update"); err != nil {
			return err
		}
		return aptGet("install", append([]string{"--no-install-recommends"}, names...)...)
	}
	return nil
}

func aptGet(verb string, args ...string) error {
	cmd := exec.Command("apt-get", append([]string{verb, "-y", "-q"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s %s: %w\n%s", verb, strings.Join(args, " "), err, said)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
