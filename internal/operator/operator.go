// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package operator is what every operator's main shares: the flags, the manager
// with its health, readiness and metrics endpoints, leader election, logs and the
// way down. An operator adds its API, what it caches and its controllers.
package operator

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// Options are what makes one operator different from the other.
type Options struct {
	// Name of the program. The leader election lease carries it too, so two
	// operators in one namespace never share a lease.
	Name string

	// AddToScheme registers the operator's own API; the built-in one is there already.
	AddToScheme func(*runtime.Scheme) error

	// Cache lists every kind that the operator reads, and how it is cached. All of
	// them are synced before the operator reports ready.
	Cache map[client.Object]cache.ByObject

	// BindFlags registers flags of the operator's own. It may be nil.
	BindFlags func(*flag.FlagSet)

	// Setup adds the controllers to the manager.
	Setup func(ctrl.Manager) error
}

// Main runs the operator until SIGTERM or SIGINT, and exits the process if it fails.
func Main(o Options) {
	s, err := parse(o, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", o.Name, err)
		os.Exit(2)
	case s.printVersion:
		fmt.Println(o.Name, buildInfo())
		return
	}

	// klog too: client-go logs leader election through it, and its lines would
	// otherwise be the only ones that are not structured.
	logger := zap.New(zap.UseFlagOptions(&s.log))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	b := buildInfo()
	logger.Info("Starting", "operator", o.Name, "version", b.version, "revision", b.revision, "go", b.goVersion,
		"watchNamespaces", s.watchNamespaces.String())
	if err := run(ctrl.SetupSignalHandler(), o, s); err != nil {
		logger.Error(err, "Failed")
		os.Exit(1)
	}
	logger.Info("Stopped")
}

func parse(o Options, args []string) (*settings, error) {
	s := &settings{}
	flags := flag.NewFlagSet(o.Name, flag.ContinueOnError)
	s.bind(flags)
	if o.BindFlags != nil {
		o.BindFlags(flags)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := s.validate(); err != nil {
		return nil, err
	}
	return s, nil
}

func run(ctx context.Context, o Options, s *settings) error {
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding a cluster to connect to: %w", err)
	}
	mgr, err := newManager(ctx, restConfig, o, managerOptions(o, s))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
