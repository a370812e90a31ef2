// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command memcached-companion tells clients and Prometheus about the nodes of a
// Memcached. The operator runs it where spec.discovery or spec.monitoring asks for it.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/example/web-operators/internal/companion"
)

func main() {
	var o companion.Options
	flag.StringVar(&o.Nodes, "nodes", "/nodes", "The directory of the list of nodes.")
	flag.StringVar(&o.Discovery, "discovery", "", "The address that answers `config get cluster`.")
	flag.StringVar(&o.HTTP, "http", "", "The address that serves the list under /nodes.")
	flag.StringVar(&o.Metrics, "metrics", "", "The address that serves the metrics of all nodes under /metrics.")
	flag.StringVar(&o.Secrets.TLS, "tls-dir", "", "The directory of the Secret with the nodes' certificate.")
	flag.StringVar(&o.Secrets.Auth, "auth-dir", "", "The directory of the Secret with the nodes' users.")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(o); err != nil {
		slog.Error("Failed", "error", err)
		os.Exit(1)
	}
}

func run(o companion.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return companion.Run(ctx, o)
}
