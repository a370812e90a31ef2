// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A site is an address behind which there is either the maintenance page or the
// application, as there is behind a Service.
type site struct {
	url string

	mu       sync.Mutex
	current  http.Handler
	requests []string // method and path of what came, in order
}

const appTitle = "The application"

// app is the application: a page with a form.
var app = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><title>%s</title><link rel="icon" href="data:,"><form method="post"><button>send</button></form>`, appTitle)
})

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	current := s.current
	s.mu.Unlock()
	current.ServeHTTP(w, r)
}

// switchTo is what the operator does to a Service.
func (s *site) switchTo(h http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = h
}

// count is how many requests came with this method.
func (s *site) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.HasPrefix(r, method+" ") {
			n++
		}
	}
	return n
}

func newSite(t *testing.T, current http.Handler) *site {
	t.Helper()
	s := &site{current: current}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// settings are page.json.
type settings map[string]any

// maintenancePage starts the program with these settings, and waits until it is ready.
func maintenancePage(t *testing.T, s settings) http.Handler {
	t.Helper()
	content := t.TempDir()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(content, "page.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	port, health := freePort(t), freePort(t)
	program := exec.Command(pageProgram, "--content="+content, "--listen="+port, "--health="+health)
	var said strings.Builder
	program.Stderr = &said
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = program.Process.Signal(syscall.SIGTERM)
		if err := program.Wait(); err != nil {
			t.Errorf("the page's program: %v\n%s", err, said.String())
		}
	})
	eventually(t, "the page is ready", func() bool {
		answer, err := http.Get("http://127.0.0.1:" + health + "/readyz")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "127.0.0.1:" + port})
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after 30 seconds: %s", what)
		}
	}
}
