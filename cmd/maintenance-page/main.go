// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command maintenance-page serves the built-in maintenance page.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/example/web-operators/internal/page"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("the maintenance page has ended", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	options := page.Options{Listen: []int{8080}}
	flag.StringVar(&options.Content, "content", "/content", "directory with the content, a ConfigMap volume")
	flag.IntVar(&options.Health, "health", 8081, "port of "+page.HealthzPath+" and "+page.ReadyzPath)
	flag.Func("listen", "ports of the page, separated by commas (default 8080)", func(value string) (err error) {
		options.Listen, err = ports(value)
		return err
	})
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unknown argument %q: see --help", flag.Arg(0))
	}

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	server, err := page.Listen(ctx, options, log)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

func ports(list string) ([]int, error) {
	var ports []int
	for part := range strings.SplitSeq(list, ",") {
		port, err := strconv.Atoi(part)
		if err != nil || port < 1 || port > 65535 {
			return nil, fmt.Errorf("%q is no port: give numbers from 1 to 65535, such as 8080,80", part)
		}
		ports = append(ports, port)
	}
	return ports, nil
}
