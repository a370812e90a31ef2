// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operatortest runs an operator in a test as its main would, and writes down
// what it asks of the API server.
package operatortest

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/web-operators/internal/operator"
	"github.com/example/web-operators/internal/testenv"
)

// quiet is how long an operator must have asked nothing to count as settled.
const quiet = 300 * time.Millisecond

// Operator is a running operator.
type Operator struct {
	stop context.CancelFunc
	done chan error

	mu       sync.Mutex
	requests []string
	waiting  int // for an answer
	last     time.Time
}

// Start runs an operator until the test ends or Stop is called. It has the rights of
// the role in the given file, relative to the root of the repository, and no others.
func Start(t *testing.T, env *testenv.Environment, roleFile string, options operator.Options, args ...string) *Operator {
	t.Helper()
	return StartBehind(t, env, 0, roleFile, options, args...)
}

// StartBehind runs an operator whose caches are behind the API server, as they are
// when there is more to do than on a quiet test machine.
func StartBehind(t *testing.T, env *testenv.Environment, lag time.Duration, roleFile string, options operator.Options, args ...string) *Operator {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o := &Operator{stop: stop, done: make(chan error, 1), last: time.Now()}
	counted := rest.CopyConfig(env.Config)
	counted.Impersonate.UserName = options.Name
	grant(t, env, options.Name, roleFile)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return roundTripper{o, next, lag} })

	args = append([]string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}, args...)
	mgr, err := operator.NewManager(ctx, counted, options, func(options *ctrl.Options) {
		options.Controller.SkipNameValidation = ptr.To(true) // several managers in one process
	}, args...)
	if err != nil {
		t.Fatal(err)
	}
	go func() { o.done <- mgr.Start(ctx) }()
	t.Cleanup(func() { o.Stop(t) })
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("caches are not synced")
	}
	return o
}

// grant binds the role in a file to a user.
func grant(t *testing.T, env *testenv.Environment, user, roleFile string) {
	t.Helper()
	root, err := testenv.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, roleFile))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(data, role); err != nil {
		t.Fatal(err)
	}
	role.Name = user
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := client.IgnoreAlreadyExists(env.Client.Create(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
}

// Stop ends the operator. It may be called twice.
func (o *Operator) Stop(t *testing.T) {
	t.Helper()
	if o.stop == nil {
		return
	}
	o.stop()
	o.stop = nil
	if err := <-o.done; err != nil {
		t.Errorf("operator: %v", err)
	}
}

// Settle waits until the operator has nothing more to ask.
func (o *Operator) Settle(t *testing.T) {
	t.Helper()
	begin := time.Now() // what happened just before still has to reach the operator
	deadline := begin.Add(30 * time.Second)
	for {
		o.mu.Lock()
		idle := min(time.Since(o.last), time.Since(begin))
		if o.waiting > 0 {
			idle = 0
		}
		o.mu.Unlock()
		if idle > quiet {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operator does not settle: %v", o.Writes())
		}
		time.Sleep(quiet - idle + time.Millisecond)
	}
}

// Reset forgets the requests so far.
func (o *Operator) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = nil
}

// Writes are the requests that change something, as "PATCH /apis/…". Events are not among them.
func (o *Operator) Writes() []string {
	return o.matching(func(method, path string) bool { return method != http.MethodGet && !strings.Contains(path, "/events") })
}

// Reads are the requests that read a single object.
func (o *Operator) Reads() []string {
	return o.matching(func(method, path string) bool {
		return method == http.MethodGet && strings.Contains(path, "/namespaces/")
	})
}

func (o *Operator) matching(keep func(method, path string) bool) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.requests), func(request string) bool {
		method, path, _ := strings.Cut(request, " ")
		return !keep(method, path)
	})
}

type roundTripper struct {
	operator *Operator
	next     http.RoundTripper
	lag      time.Duration
}

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	// Watches are opened again all the time and say nothing about the operator.
	if request.URL.Query().Get("watch") == "" {
		r.operator.mu.Lock()
		r.operator.requests = append(r.operator.requests, request.Method+" "+request.URL.Path)
		r.operator.waiting++
		r.operator.mu.Unlock()
		response, err := r.next.RoundTrip(request)
		r.operator.mu.Lock()
		r.operator.waiting--
		r.operator.last = time.Now()
		r.operator.mu.Unlock()
		return response, err
	}
	response, err := r.next.RoundTrip(request)
	if err == nil && r.lag > 0 {
		response.Body = lateBody{response.Body, r.lag}
	}
	return response, err
}

// lateBody is a response that arrives late.
type lateBody struct {
	io.ReadCloser
	lag time.Duration
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	time.Sleep(b.lag)
	return n, err
}

// ExpectWrites waits until the operator has settled and fails the test if what it has
// written in the namespace is something else, such as "PATCH deployments/name". Then
// it starts to count anew.
func (o *Operator) ExpectWrites(t *testing.T, namespace, what string, want ...string) {
	t.Helper()
	o.Settle(t)
	var got []string
	for _, write := range o.Writes() {
		// PATCH /apis/apps/v1/namespaces/x/deployments/name → PATCH deployments/name
		method, path, _ := strings.Cut(write, " ")
		_, path, _ = strings.Cut(path, "/namespaces/"+namespace+"/")
		got = append(got, method+" "+path)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: writes %q, want %q", what, got, want)
	}
	o.Reset()
}
