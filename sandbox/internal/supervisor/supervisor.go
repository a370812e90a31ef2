// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supervisor runs a cluster. It is process 1 of its own PID namespace,
// with a network and mount namespace around it, and starts each node in
// namespaces nested in these. So when it ends, however it ends, the kernel
// ends everything it started and nothing is left to clean up but files.
package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/cluster"
	"github.com/example/web-operators/sandbox/internal/process"
)

// A supervisor holds what runs in a cluster.
type supervisor struct {
	layout   cluster.Layout
	spec     cluster.Spec
	children *process.Children
	// ended receives the first component that ends without being asked to.
	ended chan error

	mu    sync.Mutex
	nodes map[int]*node
}

// Run runs the cluster of a directory until a component of it ends, or the
// process that started it ends before it has let go of its lifeline.
func Run(layout cluster.Layout, inherited cluster.Inherited) error {
	spec, err := layout.ReadSpec()
	if err != nil {
		return err
	}
	if err := isolate("sandbox"); err != nil {
		return err
	}
	if err := os.Setenv("PATH", spec.Programs.Path()); err != nil {
		return err
	}
	s := &supervisor{
		layout:   layout,
		spec:     spec,
		children: process.Collect(),
		ended:    make(chan error, 1),
		nodes:    map[int]*node{},
	}
	go s.watchLifeline(inherited.Lifeline)
	if err := makeBridge(); err != nil {
		return err
	}
	if err := s.serveRegistry(inherited.Registry); err != nil {
		return err
	}
	// The API server's address is reachable inside only; this listener was
	// opened on the host's loopback and brings the host's kubectl in.
	go forward(inherited.API, net.JoinHostPort(cluster.Address, fmt.Sprint(cluster.APIPort)))
	if err := s.startStore(); err != nil {
		return err
	}
	// Nodes prepare themselves while the API server starts.
	for n := 1; n <= spec.Nodes; n++ {
		if err := s.nodeUp(n); err != nil {
			return err
		}
	}
	go func() {
		if err := s.startControllers(); err != nil {
			s.fail(err)
		}
	}()
	go func() { s.fail(s.serveControl()) }()
	return <-s.ended
}

// watchLifeline ends the cluster when its starter dies halfway: a start that
// crashed must not leave a cluster nobody knows of. A starter that is content
// writes a byte before it goes.
func (s *supervisor) watchLifeline(lifeline *os.File) {
	if _, err := lifeline.Read(make([]byte, 1)); err != nil {
		s.fail(errors.New("the process that started this cluster has ended"))
	}
	lifeline.Close()
}

func (s *supervisor) fail(err error) {
	select {
	case s.ended <- err:
	default: // the first cause is the one to tell
	}
}

// start starts a component that is to run as long as the cluster does.
func (s *supervisor) start(name string, args ...string) error {
	return startComponent(s.children, s.layout, s.spec, name, name, args, s.fail)
}

// startComponent starts a program with a log of its own, and reports its end.
func startComponent(children *process.Children, layout cluster.Layout, spec cluster.Spec, name, program string, args []string, ended func(error)) error {
	logFile, err := os.OpenFile(layout.Log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close()
	cmd := exec.Command(spec.Programs.Find(program), args...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	child, err := children.Start(cmd)
	if err != nil {
		return err
	}
	go func() {
		err := child.Wait()
		if err == nil {
			err = errors.New("exit status 0")
		}
		ended(fmt.Errorf("%s has ended: %w; its log is %s", name, err, layout.Log(name)))
	}()
	return nil
}

// isolate finishes what the clone flags began: mounts made from here on stay
// here, and /proc shows this PID namespace.
func isolate(hostname string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := unix.Sethostname([]byte(hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	// Packets between nodes and pods pass through.
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}

// forward copies connections accepted on listener to address.
func forward(listener net.Listener, address string) {
	for {
		in, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := net.Dial("tcp", address)
			if err != nil {
				return // the client sees its connection closed, and retries
			}
			defer out.Close()
			done := make(chan struct{})
			go func() {
				io.Copy(out, in)                //nolint:errcheck // either side may hang up at any time
				out.(*net.TCPConn).CloseWrite() //nolint:errcheck // as above
				close(done)
			}()
			io.Copy(in, out)               //nolint:errcheck // as above
			in.(*net.TCPConn).CloseWrite() //nolint:errcheck // as above
			<-done
		}()
	}
}

// writeFile writes a file and the directories above it.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
