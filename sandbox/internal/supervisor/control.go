// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/example/web-operators/sandbox/internal/cluster"
	"github.com/example/web-operators/sandbox/internal/images"
)

// serveControl answers `sandbox node`: a socket in the cluster's directory,
// which is reachable from every network namespace.
func (s *supervisor) serveControl() error {
	listener, err := cluster.ListenControl(s.layout)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /nodes/{number}/up", s.handleNode(s.nodeUp))
	mux.HandleFunc("POST /nodes/{number}/down", s.handleNode(s.nodeDown))
	return http.Serve(listener, mux)
}

func (s *supervisor) handleNode(act func(int) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("number"))
		if err != nil || n < 1 || n > cluster.MaxNodes {
			http.Error(w, fmt.Sprintf("a node's number is from 1 to %d", cluster.MaxNodes), http.StatusBadRequest)
			return
		}
		if err := act(n); err != nil {
			http.Error(w, cluster.NodeName(n)+": "+err.Error(), http.StatusConflict)
		}
	}
}

// serveRegistry serves the registry to the nodes, and to the host's loopback
// so that images can be pushed.
func (s *supervisor) serveRegistry(host net.Listener) error {
	nodes, err := net.Listen("tcp", cluster.Registry)
	if err != nil {
		return err
	}
	logFile, err := os.Create(s.layout.Log("registry"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.layout.RegistryData(), 0o755); err != nil {
		return err
	}
	handler := images.ByNamespace(registry.New(
		registry.Logger(log.New(logFile, "", log.LstdFlags)),
		registry.WithBlobHandler(registry.NewDiskBlobHandler(s.layout.RegistryData())),
	), fmt.Sprintf("127.0.0.1:%d", s.spec.RegistryPort))
	for _, listener := range []net.Listener{nodes, host} {
		go func() { s.fail(http.Serve(listener, handler)) }()
	}
	return nil
}
