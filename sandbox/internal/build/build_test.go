// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hello stands in for an upstream project: a module with a program, built for
// real by the same code.
func hello(t *testing.T) (source string, c Component) {
	t.Helper()
	source = t.TempDir()
	write(t, filepath.Join(source, "hello", "go.mod"), "module hello\n\ngo 1.26.0\n\nrequire example.com/pinned v1.2.3\n\nreplace example.com/pinned => ./pinned\n")
	write(t, filepath.Join(source, "hello", "main.go"), "package main\n\nfunc main() { println(version) }\n\nvar version = \"none\"\n")
	return source, Component{
		Name: "hello", module: "example.com/pinned", output: "hello", packages: ".",
		ldflags: func(v string) string { return "-X main.version=" + v },
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ownCache gives the test a cache of built components that is empty, but keeps
// the compiler's, which would move along with it.
func ownCache(t *testing.T) string {
	t.Helper()
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	return cache
}

func TestEnsureBuildsOnce(t *testing.T) {
	ownCache(t)
	source, c := hello(t)
	defer func(all []Component) { components = all }(components)
	components = []Component{c}

	var told bytes.Buffer
	programs, err := Ensure(t.Context(), source, &told)
	if err != nil {
		t.Fatalf("%v\n%s", err, told.String())
	}
	if !strings.Contains(told.String(), "[1/1] hello v1.2.3: built in ") {
		t.Errorf("progress: %s", told.String())
	}
	program := programs.Find("hello")
	if !strings.Contains(program, "/hello-v1.2.3-") {
		t.Errorf("the program is at %s", program)
	}
	built, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Ensure(t.Context(), source, io.Discard); err != nil || again.Find("hello") != program {
		t.Errorf("the second time: %v, %v", again, err)
	}
	if now, err := os.Stat(program); err != nil || now.ModTime() != built.ModTime() {
		t.Errorf("it was built again (%v)", err)
	}
}

func TestFailedBuildLeavesNothingThatLooksFinished(t *testing.T) {
	cache := ownCache(t)
	source, c := hello(t)
	write(t, filepath.Join(source, "hello", "main.go"), "package main\n\nfunc main() { undefined() }\n")
	defer func(all []Component) { components = all }(components)
	components = []Component{c}

	_, err := Ensure(t.Context(), source, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("the compiler's words are missing: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(cache, "web-operators", "sandbox", "*hello-*"))
	hidden, _ := filepath.Glob(filepath.Join(cache, "web-operators", "sandbox", ".building-*"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("left: %q %q", left, hidden)
	}
}

func TestAnyChangeOfTheSourceIsAnotherEntry(t *testing.T) {
	source, c := hello(t)
	before, err := c.directory(source)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(source, "hello", "go.sum"), "example.com/pinned v1.2.3 h1:x\n")
	after, err := c.directory(source)
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Errorf("both are %s", before)
	}
}

// Each component's module must require what its version is read from.
func TestComponentsHaveVersions(t *testing.T) {
	for _, c := range components {
		if v, err := c.version("../../components"); err != nil || !strings.HasPrefix(v, "v") {
			t.Errorf("%s: %q, %v", c.Name, v, err)
		}
	}
}
