// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package companion

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/example/web-operators/internal/companion/nodelist"
)

// shutdownTimeout is for requests under way, within the pod's time to end.
const shutdownTimeout = 3 * time.Second

// webServer serves a handler, and beside it the pod's health: it is alive if it
// answers, and ready when there is a list.
func webServer(handler http.Handler, nodes *nodelist.Reader) func(context.Context, net.Listener) error {
	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if nodes.Newest().Version == 0 {
			http.Error(w, "no list of nodes yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return func(ctx context.Context, listener net.Listener) error {
		server := &http.Server{
			Handler:           mux,
			ReadHeaderTimeout: 5 * time.Second,
			ReadTimeout:       10 * time.Second,
			WriteTimeout:      30 * time.Second,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
		}
		ended := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(ended)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			if server.Shutdown(last) != nil {
				server.Close()
			}
		})
		defer stop()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		<-ended // it closes the listener first, and then waits for requests under way
		return nil
	}
}

// versionHeader tells the version of the list, which the text form has no place for.
const versionHeader = "Node-List-Version"

// nodeListHandler serves the list as text, one host:port in each line, or as JSON.
func nodeListHandler(nodes *nodelist.Reader) http.Handler {
	mux := http.NewServeMux()
	serve := func(asJSON func(*http.Request) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, request *http.Request) {
			l := nodes.Newest()
			if l.Version == 0 {
				http.Error(w, "no list of nodes yet", http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			w.Header().Set("Vary", "Accept")
			w.Header().Set(versionHeader, strconv.FormatInt(l.Version, 10))
			if asJSON(request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintln(w, l)
				return
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			for _, n := range l.Nodes {
				fmt.Fprintln(w, net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port))))
			}
		}
	}
	mux.HandleFunc("GET /nodes", serve(func(request *http.Request) bool {
		return strings.Contains(request.Header.Get("Accept"), "application/json")
	}))
	mux.HandleFunc("GET /nodes.json", serve(func(*http.Request) bool { return true }))
	return mux
}
