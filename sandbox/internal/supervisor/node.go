// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"text/template"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/cgroup"
	"github.com/example/web-operators/sandbox/internal/cluster"
	"github.com/example/web-operators/sandbox/internal/process"
)

//go:embed config
var configFiles embed.FS

// namespaces are those that a cluster and each of its nodes have of their own.
const namespaces = unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS

// A node is a machine of the cluster: a process in namespaces of its own.
type node struct {
	child *process.Child
	// down is closed when the node has ended, asked is set when it was meant to.
	down  chan struct{}
	asked bool
}

var errNodeIsUp = errors.New("the node is up already")

// nodeUp starts a node and connects it to the network.
func (s *supervisor) nodeUp(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes[n] != nil {
		return errNodeIsUp
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	// The node waits at this pipe until its network is there.
	wait, proceed, err := os.Pipe()
	if err != nil {
		return err
	}
	defer proceed.Close()
	cmd := exec.Command(self, "node-main", s.layout.Dir, strconv.Itoa(n))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{wait}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	child, err := s.children.Start(cmd)
	wait.Close()
	if err != nil {
		return fmt.Errorf("starting %s: %w", cluster.NodeName(n), err)
	}
	started := &node{child: child, down: make(chan struct{})}
	s.nodes[n] = started
	go s.watchNode(n, started)
	if err := plugIn(n, child.Pid); err != nil {
		// Without a network it would end by itself, and take the cluster with it.
		started.asked = true
		return errors.Join(err, child.Kill())
	}
	return nil
}

func (s *supervisor) watchNode(n int, started *node) {
	err := started.child.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.nodes, n)
	close(started.down)
	if !started.asked {
		s.fail(fmt.Errorf("%s has ended: %w; its logs are in %s", cluster.NodeName(n), err, s.layout.Logs()))
	}
}

// nodeDown ends a node as a power cut would.
func (s *supervisor) nodeDown(n int) error {
	s.mu.Lock()
	running := s.nodes[n]
	if running == nil {
		s.mu.Unlock()
		return errors.New("the node is not up")
	}
	running.asked = true
	err := running.child.Kill()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	<-running.down
	return nil
}

// nodeConfig is what the files in config are filled in with.
type nodeConfig struct {
	Name, Data, Cgroup      string
	PodCIDR, ClusterCIDR    string
	DNS, Registry           string
	CA                      string
	ServingCert, ServingKey string
	ProxyKubeconfig         string
	PauseImage              string
	CNIPlugins, Runc        string
}

// RunNode runs a node until one of its components ends. It is process 1 of the
// node's PID namespace, so nothing of the node outlives it.
func RunNode(layout cluster.Layout, n int, proceed io.Reader) error {
	spec, err := layout.ReadSpec()
	if err != nil {
		return err
	}
	if _, err := io.ReadAll(proceed); err != nil {
		return err
	}
	if err := isolate(cluster.NodeName(n)); err != nil {
		return err
	}
	if err := setUpNode(n); err != nil {
		return err
	}
	data := layout.NodeData(n)
	if err := mountNode(data); err != nil {
		return err
	}
	group := layout.CgroupGroup() + "/" + cluster.NodeName(n)
	if err := makeCgroup(group); err != nil {
		return err
	}
	p, err := layout.PKI()
	if err != nil {
		return err
	}
	config := nodeConfig{
		Name:            cluster.NodeName(n),
		Data:            data,
		Cgroup:          group,
		PodCIDR:         cluster.NodePodCIDR(n),
		ClusterCIDR:     cluster.PodCIDR,
		DNS:             cluster.DNSService,
		Registry:        cluster.Registry,
		CA:              p.Cert("ca"),
		ServingCert:     p.Cert(cluster.NodeName(n) + "-serving"),
		ServingKey:      p.Key(cluster.NodeName(n) + "-serving"),
		ProxyKubeconfig: p.Kubeconfig("proxy"),
		PauseImage:      cluster.PauseImage,
		CNIPlugins:      filepath.Dir(spec.Programs.Find("bridge")),
		Runc:            spec.Programs.Find("runc"),
	}
	if err := config.write(); err != nil {
		return err
	}

	children, ended := process.Collect(), make(chan error, 3)
	start := func(program string, args ...string) error {
		name := config.Name + "-" + program
		return startComponent(children, layout, spec, name, program, args, func(err error) { ended <- err })
	}
	if err := start("containerd", "--config", data+"/containerd.toml"); err != nil {
		return err
	}
	if err := waitForAPI(layout); err != nil {
		return err
	}
	// A kubelet that finds no container runtime ends at once. On a node that comes
	// back the API server is there already, and containerd is not yet.
	if err := waitForSocket("/run/containerd/containerd.sock"); err != nil {
		return err
	}
	if err := start("kubelet",
		"--config="+data+"/kubelet.yaml",
		"--kubeconfig="+p.Kubeconfig(config.Name),
		"--hostname-override="+config.Name,
		"--node-ip="+cluster.NodeAddress(n),
	); err != nil {
		return err
	}
	if err := start("kube-proxy", "--config="+data+"/kube-proxy.yaml"); err != nil {
		return err
	}
	return <-ended
}

// waitForSocket returns when something listens on a socket.
func waitForSocket(path string) error {
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting for %s: %w", path, err)
		}
	}
}

// write writes the configuration of the node's components.
func (c nodeConfig) write() error {
	for name, path := range map[string]string{
		"cni.conflist":    "cni/10-sandbox.conflist",
		"containerd.toml": "containerd.toml",
		"hosts.toml":      "registries/_default/hosts.toml",
		"kube-proxy.yaml": "kube-proxy.yaml",
		"kubelet.yaml":    "kubelet.yaml",
	} {
		t, err := template.ParseFS(configFiles, "config/"+name)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, c); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(c.Data, path), text.Bytes()); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(c.Data, "resolv.conf"), nil)
}

// makeCgroup makes the node's group anew: after a crash it still holds the
// groups of pods that no longer run.
func makeCgroup(group string) error {
	tree, err := cgroup.Host()
	if err != nil {
		return err
	}
	if err := tree.Remove(group); err != nil {
		return err
	}
	return tree.Make(group)
}
