// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package companion tells clients and Prometheus about the nodes of a cluster. It has
// no rights and knows nothing but the list of nodes that is mounted in its pod, so it
// answers while the operator is away.
package companion

import (
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/net/netutil"
	"golang.org/x/sync/errgroup"

	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/credentials"
)

// maxConnections is how many clients may be connected to a listener; more wait.
const maxConnections = 1024

// Options say what to serve. An empty address serves nothing.
type Options struct {
	// Nodes is the directory of the list.
	Nodes string
	// Discovery is the address that speaks memcached's `config get cluster`.
	Discovery string
	// HTTP is the address that serves the list to people and scripts.
	HTTP string
	// Metrics is the address that serves the metrics of all nodes.
	Metrics string
	// Secrets are where those are mounted that it takes to ask the nodes.
	Secrets credentials.Directories
}

// Run serves until the context ends.
func Run(ctx context.Context, o Options) error {
	nodes := nodelist.NewReader(o.Nodes)
	group, ctx := errgroup.WithContext(ctx)
	serving := 0
	for _, s := range []struct {
		address string
		serve   func(context.Context, net.Listener) error
	}{
		{o.Discovery, discoveryServer{nodes: nodes, idle: idleTimeout}.serve},
		{o.HTTP, webServer(nodeListHandler(nodes), nodes)},
		{o.Metrics, webServer(metricsHandler(nodes, o.Secrets), nodes)},
	} {
		if s.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", s.address)
		if err != nil {
			return err
		}
		serving++
		group.Go(func() error {
			if err := s.serve(ctx, netutil.LimitListener(listener, maxConnections)); err != nil {
				return fmt.Errorf("serving %s: %w", s.address, err)
			}
			return nil
		})
	}
	if serving == 0 {
		return errors.New("nothing to serve: set --discovery, --http or --metrics")
	}
	return group.Wait()
}
