// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Report is what the agent tells about itself. There is no secret in it.
type Report struct {
	// Ready means that memcached finds everything that it needs to start.
	Ready bool `json:"ready"`
	// TLS and Auth are nil where the nodes have none.
	TLS  *Part `json:"tls,omitempty"`
	Auth *Part `json:"auth,omitempty"`
}

// Part is what it tells about one Secret.
type Part struct {
	// Version is the kubelet's name for what is mounted.
	Version string `json:"version"`
	// Error is why memcached does not have it. It is empty when it does.
	Error string `json:"error,omitempty"`
	// Serial and NotAfter are of the certificate that memcached serves.
	Serial   string     `json:"serial,omitempty"`
	NotAfter *time.Time `json:"notAfter,omitempty"`
}

func (p *Part) add(err error) {
	switch {
	case err == nil:
	case p.Error == "":
		p.Error = err.Error()
	default:
		p.Error += "; " + err.Error()
	}
}

// status keeps the last report.
type status struct {
	mu   sync.Mutex
	last Report
}

// set keeps a report, and logs what is new in it.
func (s *status) set(r Report) {
	s.mu.Lock()
	before := s.last
	s.last = r
	s.mu.Unlock()
	for name, parts := range map[string][2]*Part{"tls": {before.TLS, r.TLS}, "auth": {before.Auth, r.Auth}} {
		if now := parts[1]; now != nil && now.Error != "" && (parts[0] == nil || parts[0].Error != now.Error) {
			slog.Warn("Not up to date", "part", name, "error", now.Error)
		}
	}
}

func (s *status) get() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// serve tells the last report, and by /healthz whether memcached may start.
func (s *status) serve(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.get().Ready {
			http.Error(w, "the Secrets cannot be used", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(s.get()) //nolint:errcheck // whoever asked has gone
	})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Check asks the agent at an address whether memcached may start. The kubelet runs it:
// the address is one that only the pod itself reaches.
func Check(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the agent is not ready: its log says which Secret is wrong (%s)", response.Status)
	}
	return nil
}
