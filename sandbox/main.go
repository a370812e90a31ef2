// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command sandbox runs a real Kubernetes on a plain Linux machine: no
// container engine, no registry, no internet beyond Go modules.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/build"
	"github.com/example/web-operators/sandbox/internal/cluster"
	"github.com/example/web-operators/sandbox/internal/supervisor"
)

const usage = `sandbox runs a real Kubernetes on this machine.

  sandbox up [-nodes N]            start a cluster, or find it running
  sandbox down                     end it and remove what it left
  sandbox run [-nodes N] -- CMD…   run a command with a cluster of its own (KUBECONFIG is set)
  sandbox status                   say whether it runs, and if it ended, why
  sandbox node up|down N           bring a node (back) up; take it down like a power cut
  sandbox image build|push|…       make images from files and give them to the cluster
  sandbox build                    build the cluster's programs, if they are not in the cache
  sandbox path PROGRAM             print where a built program is, e.g. kubectl

The cluster's directory is .cluster beside bin/, or SANDBOX_DIR, or what -dir says before the command.
`

func main() {
	err := command(os.Args[1:])
	var failed *commandError
	if errors.As(err, &failed) {
		os.Exit(failed.code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox: "+err.Error())
		os.Exit(1)
	}
}

func command(args []string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("sandbox", flag.ContinueOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	dir := flags.String("dir", defaultDir(root), "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	layout, err := cluster.At(*dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
	defer stop()
	app := app{layout, filepath.Join(root, "sandbox", "components")}
	args = flags.Args()
	if len(args) == 0 {
		flags.Usage()
		return errors.New("no command given")
	}
	switch name, args := args[0], args[1:]; name {
	case "up":
		return app.up(ctx, args)
	case "down":
		return cluster.Down(layout)
	case "run":
		return app.run(ctx, args)
	case "status":
		return app.status()
	case "node":
		return app.node(args)
	case "image":
		return app.image(args)
	case "build":
		_, err := build.Ensure(ctx, app.source, os.Stderr)
		return err
	case "path":
		return app.path(ctx, args)
	case "supervise", "node-main":
		return inside(name, args)
	default:
		flags.Usage()
		return fmt.Errorf("no such command: %s", name)
	}
}

// repository finds the clone this program was built into, so that it can be
// called from any directory.
func repository() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.Dir(filepath.Dir(self)), nil
}

// defaultDir is the clone's own cluster, or inside `sandbox run` that one's.
func defaultDir(root string) string {
	if dir := os.Getenv("SANDBOX_DIR"); dir != "" {
		return dir
	}
	return filepath.Join(root, ".cluster")
}

type app struct {
	layout cluster.Layout
	source string // the directory of the components' modules
}

func (a app) start(ctx context.Context, name string, args []string) (*cluster.Running, []string, error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	nodes := flags.Int("nodes", 1, "how many nodes")
	if err := flags.Parse(args); err != nil {
		return nil, nil, err
	}
	programs, err := build.Ensure(ctx, a.source, os.Stderr)
	if err != nil {
		return nil, nil, err
	}
	running, err := cluster.Up(ctx, a.layout, *nodes, programs, os.Stderr)
	return running, flags.Args(), err
}

func (a app) up(ctx context.Context, args []string) error {
	running, _, err := a.start(ctx, "up", args)
	if errors.Is(err, cluster.ErrRunning) {
		return a.status()
	}
	if err != nil {
		return err
	}
	return running.Detach()
}

func (a app) run(ctx context.Context, args []string) error {
	running, args, err := a.start(ctx, "run", args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.Join(errors.New("no command given"), running.Stop())
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "KUBECONFIG="+a.layout.Kubeconfig(), "SANDBOX_DIR="+a.layout.Dir)
	done := make(chan struct{})
	go func() {
		select {
		case <-running.Ended():
			fmt.Fprintln(os.Stderr, "sandbox: the cluster has ended: "+a.layout.LastWords())
		case <-done:
		}
	}()
	err = cmd.Run()
	close(done)
	if err == nil {
		return running.Stop()
	}
	fmt.Fprintf(os.Stderr, "sandbox: the cluster's logs are kept in %s\n", a.layout.Logs())
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = &commandError{exit.ExitCode()}
	}
	return errors.Join(err, running.StopKeepingLogs())
}

// commandError means that the command `sandbox run` ran has failed, and has
// said why.
type commandError struct {
	code int
}

func (e *commandError) Error() string { return fmt.Sprintf("exit status %d", e.code) }

func (a app) status() error {
	if a.layout.IsRunning() {
		spec, err := a.layout.ReadSpec()
		if err != nil {
			return err
		}
		fmt.Printf("a cluster is running in %s (started with %d nodes)\n  kubeconfig: %s\n  registry:   127.0.0.1:%d\n  logs:       %s\n",
			a.layout.Dir, spec.Nodes, a.layout.Kubeconfig(), spec.RegistryPort, a.layout.Logs())
		return nil
	}
	if _, err := os.Stat(a.layout.Dir); err != nil {
		return fmt.Errorf("no cluster is running in %s", a.layout.Dir)
	}
	return fmt.Errorf("the cluster in %s has ended: %s", a.layout.Dir, a.layout.LastWords())
}

func (a app) node(args []string) error {
	if len(args) != 2 || (args[0] != "up" && args[0] != "down") {
		return errors.New("usage: sandbox node up|down N")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("%q is not a node's number", args[1])
	}
	return cluster.SetNode(a.layout, n, args[0])
}

func (a app) path(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: sandbox path PROGRAM")
	}
	programs, err := build.Ensure(ctx, a.source, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(programs.Find(args[0]))
	return nil
}

// inside are the entry points of the processes that make up a cluster.
func inside(name string, args []string) error {
	layout, err := cluster.At(args[0])
	if err != nil {
		return err
	}
	if name == "supervise" {
		inherited, err := cluster.Inherit()
		if err != nil {
			return err
		}
		return supervisor.Run(layout, inherited)
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	unix.CloseOnExec(3)
	return supervisor.RunNode(layout, n, os.NewFile(3, "proceed"))
}
