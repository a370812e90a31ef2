// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests what a user sees, on a real cluster: `make e2e` starts one,
// runs these tests and takes it down again. Both operators run in it as pods,
// deployed by the targets that users have.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository; kubectl and make are called as from there.
var root string

// parallel is how many tests run at a time. They wait for the cluster rather than use
// the processor, which is what Go's own number is about.
const parallel = "4"

// memcachedImage is the image that the operator is deployed to run.
var memcachedImage string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Getenv("SANDBOX_DIR") == "" {
		fmt.Fprintln(os.Stderr, "these tests need a sandbox cluster of their own; type: make e2e")
		return 1
	}
	wd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	root = filepath.Dir(filepath.Dir(wd))
	if err := deploy(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		tellLogs()
	}
	return code
}

// deploy puts the images into the cluster and the operators on it.
func deploy() error {
	image, err := command("bin/sandbox", "image", "memcached")
	if err != nil {
		return err
	}
	memcachedImage = strings.TrimSpace(image)
	for _, args := range [][]string{
		{"make", "docker-build"},
		{"make", "docker-push"},
		{"hack/images.sh"},
		{"make", "deploy", "MEMCACHED_IMAGE=" + memcachedImage},
	} {
		if _, err := command(args[0], args[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// tellLogs prints what the operators said, which is where a failure is explained.
func tellLogs() {
	for _, o := range operators {
		logs, err := command("bin/kubectl", "logs", "-n", o.namespace, "deployment/"+o.deployment, "--tail=20")
		fmt.Fprintf(os.Stderr, "--- the last of %s's log (%v)\n%s\n", o.deployment, err, logs)
	}
}

// command runs a program as a user in the repository would.
func command(name string, args ...string) (string, error) {
	if strings.Contains(name, "/") {
		name = filepath.Join(root, name)
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CLUSTER=sandbox")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
