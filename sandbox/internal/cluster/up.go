// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/example/web-operators/sandbox/internal/build"
	"github.com/example/web-operators/sandbox/internal/images"
	"github.com/example/web-operators/sandbox/internal/pki"
)

const (
	PauseImage   = "registry.k8s.io/pause:3.10.2"
	coreDNSImage = "registry.k8s.io/coredns/coredns:v1.15.0"
)

// bootstrap is what every cluster has from the start: DNS, and the right of
// the API server to speak to the kubelets.
//
//go:embed bootstrap.yaml
var bootstrap string

// Inherited are the files that the supervisor gets from the process that
// starts it. The listeners were opened in the host's network namespace and
// stay there, which is the only way into the cluster.
type Inherited struct {
	Lifeline *os.File
	API      net.Listener
	Registry net.Listener
}

// The numbers of the inherited files.
const (
	lifelineFD = 3 + iota
	apiFD
	registryFD
	lockFD
)

// Inherit takes the files over in the supervisor.
func Inherit() (Inherited, error) {
	// None of them is to reach the programs the supervisor starts: the lock
	// would then be held until the last of them has ended.
	for fd := lifelineFD; fd <= lockFD; fd++ {
		unix.CloseOnExec(fd)
	}
	api, err := net.FileListener(os.NewFile(apiFD, "api"))
	if err != nil {
		return Inherited{}, err
	}
	registry, err := net.FileListener(os.NewFile(registryFD, "registry"))
	if err != nil {
		return Inherited{}, err
	}
	return Inherited{os.NewFile(lifelineFD, "lifeline"), api, registry}, nil
}

// A Running cluster has been started by this process and lives no longer than
// it, unless it is detached.
type Running struct {
	layout     Layout
	lifeline   *os.File
	supervisor *exec.Cmd
	ended      chan struct{} // closed when the supervisor has ended
}

// ErrRunning means that a cluster runs in the directory already.
var ErrRunning = errors.New("a cluster is running already")

// Up starts a cluster and returns when its nodes are Ready and DNS answers.
// What it has started is gone again when it fails.
func Up(ctx context.Context, l Layout, nodes int, programs build.Programs, out io.Writer) (*Running, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("a cluster needs root for its namespaces: try again with sudo")
	}
	if nodes < 1 || nodes > MaxNodes {
		return nil, fmt.Errorf("a cluster has 1 to %d nodes", MaxNodes)
	}
	if err := build.NeedRunPackages(out); err != nil {
		return nil, err
	}
	lock, err := l.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Close() // the supervisor has it then
	if err := l.clear(); err != nil {
		return nil, err
	}
	r, err := l.start(nodes, programs, lock)
	if err != nil {
		return nil, errors.Join(err, l.remove())
	}
	if err := r.becomeReady(ctx, nodes, programs, out); err != nil {
		return nil, errors.Join(err, r.StopKeepingLogs())
	}
	return r, nil
}

// start prepares the directory and starts the supervisor.
func (l Layout) start(nodes int, programs build.Programs, lock *os.File) (*Running, error) {
	if err := os.MkdirAll(l.Logs(), 0o755); err != nil {
		return nil, err
	}
	api, apiPort, err := listen()
	if err != nil {
		return nil, err
	}
	defer api.Close()
	registry, registryPort, err := listen()
	if err != nil {
		return nil, err
	}
	defer registry.Close()
	if err := l.writeSpec(Spec{Nodes: nodes, Programs: programs, APIPort: apiPort, RegistryPort: registryPort}); err != nil {
		return nil, err
	}
	if err := l.writeCredentials(apiPort); err != nil {
		return nil, err
	}
	log, err := os.Create(l.Log("supervisor"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(self, "supervise", l.Dir)
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{lifelineFD - 3: theirs, apiFD - 3: api, registryFD - 3: registry, lockFD - 3: lock}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS,
		// Ctrl-C at the terminal ends the start, which then ends the cluster in
		// order; it must not reach the cluster's processes directly.
		Setsid: true,
	}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	r := &Running{l, ours, cmd, make(chan struct{})}
	go func() {
		cmd.Wait() //nolint:errcheck // why it ended is the last line of its log
		close(r.ended)
	}()
	return r, os.WriteFile(l.pid(), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644)
}

// becomeReady fills the registry, makes the first objects and waits for the
// nodes and DNS, telling how long each took.
func (r *Running) becomeReady(ctx context.Context, nodes int, programs build.Programs, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	go func() {
		select {
		case <-r.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	spec, err := r.layout.ReadSpec()
	if err != nil {
		return err
	}
	kubectl := func(stdin string, args ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(ctx, programs.Find("kubectl"), append([]string{"--kubeconfig", r.layout.Kubeconfig()}, args...)...)
			cmd.Stdin = strings.NewReader(stdin)
			if said, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, said)
			}
			return nil
		}
	}
	var nodeNames []string
	for n := 1; n <= nodes; n++ {
		nodeNames = append(nodeNames, "node/"+NodeName(n))
	}
	begin := time.Now()
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"images are in the registry", func() error { return pushSystemImages(programs, spec.RegistryPort) }},
		{"the API server is ready", func() error { return WaitForAPI(ctx, r.layout, "127.0.0.1", spec.APIPort) }},
		// A ready API server makes the namespace kube-system a moment later.
		{"", retry(ctx, kubectl(bootstrap, "apply", "-f", "-"))},
		// `kubectl wait` may see a node come and then fail to read it.
		{"", retry(ctx, kubectl("", append([]string{"wait", "--for=create", "--timeout=2m"}, nodeNames...)...))},
		{fmt.Sprintf("%d of %d nodes are Ready", nodes, nodes), retry(ctx, kubectl("", append([]string{"wait", "--for=condition=Ready", "--timeout=2m"}, nodeNames...)...))},
		{"DNS answers", kubectl("", "rollout", "status", "--namespace=kube-system", "--timeout=2m", "deployment/coredns")},
	} {
		if err := step.do(); err != nil {
			select {
			case <-r.ended:
				return fmt.Errorf("the cluster has ended: %s", r.layout.LastWords())
			default:
				return fmt.Errorf("%w\n(logs are in %s)", err, r.layout.Logs())
			}
		}
		if step.name != "" {
			fmt.Fprintf(out, "%5.1f s  %s\n", time.Since(begin).Seconds(), step.name)
		}
	}
	return nil
}

// retry does something until it works or there is no time left.
func retry(ctx context.Context, do func() error) func() error {
	return func() error {
		for {
			err := do()
			if err == nil || ctx.Err() != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return err
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}

// pushSystemImages fills the registry with what no cluster runs without.
func pushSystemImages(programs build.Programs, port int) error {
	address := fmt.Sprintf("127.0.0.1:%d", port)
	for tag, program := range map[string]string{PauseImage: "pause", coreDNSImage: "coredns"} {
		image, err := images.Recipe{
			Files:      map[string]string{"/" + program: programs.Find(program)},
			Entrypoint: []string{"/" + program},
			User:       "65532:65532",
		}.Build()
		if err != nil {
			return err
		}
		if err := images.Push(image, tag, address); err != nil {
			return err
		}
	}
	return nil
}

// Detach lets the cluster live on when this process ends.
func (r *Running) Detach() error {
	_, err := r.lifeline.Write([]byte{0})
	return err
}

// Stop ends the cluster and removes what it has left.
func (r *Running) Stop() error {
	r.kill()
	return r.layout.remove()
}

// StopKeepingLogs is Stop after something went wrong: the logs tell what, and
// stay until the next start or `sandbox down`.
func (r *Running) StopKeepingLogs() error {
	r.kill()
	return r.layout.clear(filepath.Base(r.layout.Logs()))
}

func (r *Running) kill() {
	r.supervisor.Process.Kill() //nolint:errcheck // it may have ended by itself
	<-r.ended
}

// Ended is closed when the cluster has ended; Layout.LastWords then says why.
func (r *Running) Ended() <-chan struct{} { return r.ended }

// LastWords is what the supervisor said last.
func (l Layout) LastWords() string {
	said, err := os.ReadFile(l.Log("supervisor"))
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	return string(lines[len(lines)-1])
}

// listen opens a port on the host's loopback, to be handed on as a file.
func listen() (*os.File, int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, 0, err
	}
	defer listener.Close()
	file, err := listener.(*net.TCPListener).File()
	return file, listener.Addr().(*net.TCPAddr).Port, err
}

// writeCredentials makes the certificates and kubeconfigs of all components.
func (l Layout) writeCredentials(apiPort int) error {
	p, err := l.PKI()
	if err != nil {
		return err
	}
	ca, err := p.Authority("ca")
	if err != nil {
		return err
	}
	frontProxy, err := p.Authority("front-proxy-ca")
	if err != nil {
		return err
	}
	inside := fmt.Sprintf("https://%s:%d", Address, APIPort)
	errs := []error{
		p.KeyPair("service-accounts"),
		ca.Server("apiserver", "kube-apiserver", "127.0.0.1", Address, APIService, "localhost",
			"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"),
		ca.Client("apiserver-kubelet-client", "kube-apiserver-kubelet-client"),
		frontProxy.Client("front-proxy-client", "front-proxy-client"),
		l.writeUser(p, ca, inside, "controller-manager", "system:kube-controller-manager"),
		l.writeUser(p, ca, inside, "scheduler", "system:kube-scheduler"),
		l.writeUser(p, ca, inside, "proxy", "system:kube-proxy"),
		ca.Client("admin", "kubernetes-admin", "system:masters"),
		ca.WriteKubeconfig(l.Kubeconfig(), "admin", fmt.Sprintf("https://127.0.0.1:%d", apiPort), "sandbox"),
	}
	for n := 1; n <= MaxNodes; n++ {
		name := NodeName(n)
		errs = append(errs,
			l.writeUser(p, ca, inside, name, "system:node:"+name, "system:nodes"),
			ca.Server(name+"-serving", "system:node:"+name, name, NodeAddress(n)))
	}
	return errors.Join(errs...)
}

func (l Layout) writeUser(p pki.Dir, ca *pki.Authority, server, name, user string, groups ...string) error {
	if err := ca.Client(name, user, groups...); err != nil {
		return err
	}
	return ca.WriteKubeconfig(p.Kubeconfig(name), name, server, "sandbox")
}
