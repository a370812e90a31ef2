// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Programs are the directories of the built components.
type Programs []string

// Find returns the path of a program, which Ensure has built.
func (p Programs) Find(name string) string {
	for _, dir := range p {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	// Every program is listed in components; a missing one is a mistake in this
	// repository, and starting it gives the clearest message.
	return name
}

// Path is a value for PATH in which all programs are found, before the host's.
func (p Programs) Path() string {
	return strings.Join(p, ":") + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
}

// CacheDir is where built components live, shared by all clones of a user.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory (set HOME or XDG_CACHE_HOME): %w", err)
	}
	return filepath.Join(base, "web-operators", "sandbox"), nil
}

// Ensure builds what is missing in the cache and tells its progress to out.
func Ensure(ctx context.Context, source string, out io.Writer) (Programs, error) {
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	var programs Programs
	var missing []Component
	for _, c := range components {
		name, err := c.directory(source)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(cache, name)
		programs = append(programs, dir)
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return programs, nil
	}
	if err := needPackages(buildPackages, out); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "building %d of %d components into %s; this happens once\n", len(missing), len(components), cache)
	for i, c := range missing {
		if err := c.build(ctx, source, cache, newProgress(out, i+1, len(missing))); err != nil {
			return nil, fmt.Errorf("building %s: %w", c.Name, err)
		}
	}
	return programs, nil
}

// build compiles into a directory of its own and renames it when it is whole,
// so that an interrupted build leaves nothing that looks finished.
func (c Component) build(ctx context.Context, source, cache string, progress *progress) error {
	unlock, err := lock(filepath.Join(cache, c.Name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	name, err := c.directory(source)
	if err != nil {
		return err
	}
	final := filepath.Join(cache, name)
	if _, err := os.Stat(final); err == nil {
		return nil // another clone built it while we waited for the lock
	}
	version, err := c.version(source)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, ".building-"+c.Name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	progress.begin(c.Name + " " + version)
	dir := filepath.Join(source, c.Name)
	total, err := c.countPackages(ctx, dir)
	if err != nil {
		return err
	}
	progress.total = total
	cmd := c.goCommand(ctx, dir, c.arguments(version, tmp)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// `go build -v` prints a line for each package as it is compiled; anything
	// else it prints is what a reader needs when it fails.
	var said bytes.Buffer
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if line := lines.Text(); strings.ContainsAny(line, " :") {
			fmt.Fprintln(&said, line)
		} else {
			progress.step()
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, said.String())
	}
	if c.after != nil {
		if err := c.after(c, source, tmp); err != nil {
			return err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil {
		return err
	}
	progress.end()
	return nil
}

func (c Component) goCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cgo := "CGO_ENABLED=0"
	if c.cgo {
		cgo = "CGO_ENABLED=1"
	}
	cmd.Env = append(os.Environ(), cgo, "GOWORK=off", "GOFLAGS=-mod=readonly")
	return cmd
}

// countPackages tells how many packages the build will name at most.
func (c Component) countPackages(ctx context.Context, dir string) (int, error) {
	cmd := c.goCommand(ctx, dir, "list", "-deps", "-tags", c.tags, c.packages)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	list, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, stderr.String())
	}
	return bytes.Count(list, []byte("\n")), nil
}

// buildPause compiles the pause program, which holds a pod's namespaces. It is
// the one C program of Kubernetes, a few kilobytes resident in every pod, and
// comes with the same verified module.
func buildPause(c Component, source, out string) error {
	list := c.goCommand(context.Background(), filepath.Join(source, c.Name), "list", "-m", "-f", "{{.Dir}}", c.module)
	dir, err := list.Output()
	if err != nil {
		return fmt.Errorf("finding the source of pause: %w", err)
	}
	src := filepath.Join(strings.TrimSpace(string(dir)), "build", "pause", "linux", "pause.c")
	cc := exec.Command("gcc", "-Os", "-Wall", "-static", "-s", "-DVERSION=sandbox", "-o", filepath.Join(out, "pause"), src)
	if msg, err := cc.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling pause: %w\n%s", err, msg)
	}
	return nil
}

// lock keeps two clones from building the same component at the same time.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// progress tells which component is being built, how far it is and how many
// are left: a cold build takes minutes, and silence looks like a hang.
type progress struct {
	out           io.Writer
	number, count int
	name          string
	total, done   int
	started, told time.Time
}

func newProgress(out io.Writer, number, count int) *progress {
	return &progress{out: out, number: number, count: count}
}

func (p *progress) begin(name string) {
	p.name, p.started, p.told = name, time.Now(), time.Now()
	fmt.Fprintf(p.out, "[%d/%d] %s\n", p.number, p.count, name)
}

func (p *progress) step() {
	p.done++
	if time.Since(p.told) < 10*time.Second {
		return
	}
	p.told = time.Now()
	fmt.Fprintf(p.out, "[%d/%d] %s: %d of at most %d packages, %s\n", p.number, p.count, p.name, p.done, p.total, p.elapsed())
}

func (p *progress) end() {
	fmt.Fprintf(p.out, "[%d/%d] %s: built in %s\n", p.number, p.count, p.name, p.elapsed())
}

func (p *progress) elapsed() time.Duration { return time.Since(p.started).Round(time.Second) }
