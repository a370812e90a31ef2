// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command memcached-agent brings certificates and passwords to the memcached beside it.
// The operator runs it in pods whose spec has tls or auth.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/example/web-operators/internal/agent"
)

func main() {
	var o agent.Options
	var check bool
	flag.StringVar(&o.Secrets.TLS, "tls-dir", "", "The directory of the Secret with the certificate.")
	flag.StringVar(&o.Secrets.Auth, "auth-dir", "", "The directory of the Secret with the users.")
	flag.BoolVar(&o.Mutual, "mutual", false, "Whether clients have to show a certificate.")
	flag.StringVar(&o.Directory, "directory", "/agent", "The directory that memcached reads.")
	flag.StringVar(&o.Memcached, "memcached", "127.0.0.1:11211", "The address of memcached.")
	flag.StringVar(&o.Status, "status", "127.0.0.1:11210", "The address that tells the agent's status.")
	flag.BoolVar(&check, "check", false, "Ask the running agent whether memcached may start, and end.")
	flag.Parse()
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(o, check); err != nil {
		slog.Error("Failed", "error", err)
		os.Exit(1)
	}
}

func run(o agent.Options, check bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if check {
		return agent.Check(ctx, o.Status)
	}
	return agent.Run(ctx, o)
}
