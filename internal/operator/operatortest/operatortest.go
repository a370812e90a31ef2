// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operatortest runs an operator in a test as its main would, and writes down
// what it asks of the API server.
package operatortest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/web-operators/internal/operator"
)

// quiet is how long an operator must have asked nothing to count as settled.
const quiet = 300 * time.Millisecond

// Operator is a running operator.
type Operator struct {
	stop context.CancelFunc
	done chan error

	mu       sync.Mutex
	requests []string
	last     time.Time
}

// Start runs an operator until the test ends or Stop is called.
func Start(t *testing.T, config *rest.Config, options operator.Options, args ...string) *Operator {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o := &Operator{stop: stop, done: make(chan error, 1), last: time.Now()}
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper { return roundTripper{o, next} })

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
}

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) {
	// Watches are opened again all the time and say nothing about the operator.
	if request.URL.Query().Get("watch") == "" {
		r.operator.mu.Lock()
		r.operator.requests = append(r.operator.requests, request.Method+" "+request.URL.Path)
		r.operator.last = time.Now()
		r.operator.mu.Unlock()
	}
	return r.next.RoundTrip(request)
}
