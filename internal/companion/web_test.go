// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/companion/nodelist"
)

func TestNodeList(t *testing.T) {
	const text = "c-0.c.web.svc:11211\nc-1.c.web.svc:11211\nc-2.c.web.svc:11311\n"
	json := three.String() + "\n"
	for _, test := range []struct {
		name, method, path, accept string
		nodes                      nodelist.List
		status                     int
		contentType, body          string
	}{
		{"text", "GET", "/nodes", "", three, 200, "text/plain; charset=utf-8", text},
		{"curl", "GET", "/nodes", "*/*", three, 200, "text/plain; charset=utf-8", text},
		{"JSON by header", "GET", "/nodes", "application/json", three, 200, "application/json", json},
		{"JSON by name", "GET", "/nodes.json", "", three, 200, "application/json", json},
		{"IPv6", "GET", "/nodes", "", nodelist.List{Version: 1, Nodes: []nodelist.Node{{Name: "a", Host: "fd00::1", IP: "fd00::1", Port: 11211}}}, 200, "text/plain; charset=utf-8", "[fd00::1]:11211\n"},
		{"none", "GET", "/nodes", "", nodelist.List{Version: 4}, 200, "text/plain; charset=utf-8", ""},
		{"no list yet", "GET", "/nodes", "", nodelist.List{}, 503, "text/plain; charset=utf-8", "no list of nodes yet\n"},
		{"not a list", "GET", "/other", "", three, 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"not to be changed", "PUT", "/nodes", "", three, 405, "text/plain; charset=utf-8", "Method Not Allowed\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody)
			request.Header.Set("Accept", test.accept)
			w := httptest.NewRecorder()
			nodeListHandler(reader(t, test.nodes)).ServeHTTP(w, request)
			if w.Code != test.status || w.Header().Get("Content-Type") != test.contentType || w.Body.String() != test.body {
				t.Errorf("%d %s %q", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			if version := w.Header().Get(versionHeader); w.Code == 200 && version != fmt.Sprint(test.nodes.Version) {
				t.Errorf("version %q", version)
			}
		})
	}
}

// A program that serves everything, and ends with a request under way.
func TestRun(t *testing.T) {
	directory := t.TempDir()
	addresses := make([]string, 3)
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = listener.Addr().String()
		listener.Close()
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{Nodes: directory, Discovery: addresses[0], HTTP: addresses[1], Metrics: addresses[2]})
	}()
	for path, want := range map[string]string{
		addresses[1] + "/healthz": "200 ok",
		addresses[2] + "/healthz": "200 ok",
		addresses[1] + "/readyz":  "503 no list of nodes yet",
		addresses[2] + "/readyz":  "503 no list of nodes yet",
		addresses[2] + "/metrics": "200 ",
	} {
		if got := eventuallyGet(t, "http://"+path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	conn, in := dial(t, addresses[0])
	fmt.Fprint(conn, "config get cluster\r\n")
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "SERVER_ERROR ") {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}

func TestRunNeedsSomethingToServe(t *testing.T) {
	if err := Run(t.Context(), Options{Nodes: t.TempDir()}); err == nil {
		t.Error("no error")
	}
	if err := Run(t.Context(), Options{Nodes: t.TempDir(), HTTP: "256.0.0.1:1"}); err == nil {
		t.Error("no error")
	}
}

func eventuallyGet(t *testing.T, url string) string {
	t.Helper()
	var last error
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err
			continue
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(body)))
	}
	t.Fatal(last)
	return ""
}
