// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/node"
)

func TestVerified(t *testing.T) {
	seen := running(sample(stateful))
	pod := &seen.nodes[0]
	var r remembered
	if r.isVerified(pod, 64) {
		t.Error("nobody has asked it")
	}
	r.verify(pod, 64)
	if !r.isVerified(pod, 64) || r.isVerified(pod, 65) || r.isVerified(&seen.nodes[1], 64) {
		t.Error("it holds for one pod and one size")
	}
	pod.Status.ContainerStatuses[0].ContainerID = "c2"
	if r.isVerified(pod, 64) {
		t.Error("it holds for another start of the container")
	}
	if !r.canResize() {
		t.Error("it is not resizable from the start")
	}
	if r.giveUpResizing(); r.canResize() {
		t.Error("it is still resizable")
	}
}

func TestHitRate(t *testing.T) {
	pod := &running(sample(stateful)).nodes[0]
	var r remembered
	for _, test := range []struct {
		name       string
		after      time.Duration
		gets, hits int64
		err        error
		rate       int32
		known      bool
	}{
		{"all since the start", 0, 100, 90, nil, 90, true},
		{"too soon, so the last one", 2 * time.Second, 1000, 0, nil, 90, true},
		{"only what came since", 5 * time.Second, 200, 100, nil, 10, true},
		{"no answer", 10 * time.Second, 0, 0, errors.New("timeout"), 0, false},
		{"after it", 11 * time.Second, 300, 200, nil, 100, true},
		{"the container has begun anew", 17 * time.Second, 10, 0, nil, 0, false},
		{"and goes on", 23 * time.Second, 110, 25, nil, 25, true},
	} {
		answer := reading{reads: node.Reads{Gets: test.gets, Hits: test.hits}, err: test.err}
		if rate, known := r.hitRate(pod, answer, testTime.Add(test.after)); rate != test.rate || known != test.known {
			t.Errorf("%s: %d, %t", test.name, rate, known)
		}
	}
}

// events are what a node and an API server were told, in order.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(event string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return strings.Join(e.all, ", ")
}

// pages is a memcached with a number of pages, all in one class.
func (e *events) pages(t *testing.T, pages int) (port int32) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			for in := bufio.NewScanner(conn); in.Scan(); {
				answer := "OK\r\n"
				switch command := in.Text(); {
				case strings.HasPrefix(command, "stats"):
					answer = fmt.Sprintf("STAT limit_maxbytes %d\r\nSTAT cmd_get 100\r\nSTAT get_hits 90\r\nSTAT 1:total_pages %d\r\nSTAT total_malloced %d\r\nEND\r\n",
						64*mebibyte, pages, pages*mebibyte)
				case strings.HasPrefix(command, "slabs reassign"):
					pages--
				default:
					e.add(command)
				}
				if _, err := io.WriteString(conn, answer); err != nil {
					break
				}
			}
			conn.Close()
		}
	}()
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

// patches is an API server that notes what pods' annotations become.
type patches struct {
	client.Client
	*events
	err error
}

func (p patches) Scheme() *runtime.Scheme { return scheme.Scheme }

func (p patches) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return corev1.SchemeGroupVersion.WithKind("Pod"), nil
}

func (p patches) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
	p.add("annotation " + object.GetAnnotations()[annotationMemory])
	return p.err
}

// A container that ends between the two steps comes back at the smaller size.
func TestAdjustOrder(t *testing.T) {
	for _, test := range []struct {
		name  string
		to    string
		has   node.Memory
		fails bool
		want  string
	}{
		{"grow", "96Mi", node.Memory{Limit: 64 * mebibyte, Allocated: 64 * mebibyte}, false, "cache_memlimit 96, annotation 96"},
		{"shrink", "32Mi", node.Memory{Limit: 64 * mebibyte, Allocated: 64 * mebibyte}, false, "annotation 32, cache_memlimit 32"},
		{"shrink without pages to give back", "32Mi", node.Memory{Limit: 64 * mebibyte, Allocated: 8 * mebibyte}, false, "annotation 32, cache_memlimit 32"},
		{"the annotation is all that is missing", "32Mi", node.Memory{Limit: 32 * mebibyte, Allocated: 8 * mebibyte}, false, "cache_memlimit 32, annotation 32"},
		{"the annotation is refused, and the node is left alone", "32Mi", node.Memory{Limit: 64 * mebibyte}, true, "annotation 32"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := sample(stateful, memory(test.to))
			seen := running(sample(stateful))
			e := &events{}
			pod := &seen.nodes[0]
			pod.Status.PodIP = "127.0.0.1"
			m.Spec.ContainerPort = e.pages(t, int(test.has.Allocated/mebibyte))
			api := patches{events: e}
			if test.fails {
				api.err = errors.New("conflict")
			}
			r := &Reconciler{client: api, writer: apply.NewWriter(api, Name)}
			if err := r.adjust(t.Context(), m, pod, reading{memory: test.has}); (err != nil) != test.fails {
				t.Error(err)
			}
			if got := e.String(); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Nodes that have said before that they are as wanted are not asked again.
func TestReadNodes(t *testing.T) {
	m := sample(stateful)
	seen := running(m)
	m.Spec.ContainerPort = (&events{}).pages(t, 8)
	for i := range seen.nodes {
		seen.nodes[i].Status.PodIP = "127.0.0.1"
		seen.nodes[i].Annotations = podTemplate(m, testImages).Annotations
	}
	r := &Reconciler{}
	r.remembered.verify(&seen.nodes[1], 64)
	r.remembered.verify(&seen.nodes[2], 64)
	down(&seen.nodes[2])
	r.readNodes(t.Context(), m, seen)
	for name, want := range map[string]reading{
		"sample-0": {memory: node.Memory{Limit: 64 * mebibyte, Allocated: 8 * mebibyte}, reads: node.Reads{Gets: 100, Hits: 90}},
		"sample-1": {verified: true},
		"sample-2": {verified: true},
	} {
		if got := seen.readings[name]; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if !r.remembered.isVerified(&seen.nodes[0], 64) || seen.hitRates["sample-0"] != 90 || !seen.resizable {
		t.Errorf("%+v", seen.hitRates)
	}

	// One that does not answer is told apart from one that was not asked.
	seen.nodes[0].Status.ContainerStatuses[0].ContainerID = "c2"
	m.Spec.ContainerPort = 1 // where nobody listens
	for i := range seen.nodes {
		seen.nodes[i].Annotations = podTemplate(m, testImages).Annotations
	}
	r.readNodes(t.Context(), m, seen)
	if seen.readings["sample-0"].err == nil || seen.readings["sample-1"].err != nil {
		t.Errorf("%+v", seen.readings)
	}
}
