// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// shutdownTimeout is shorter than the pods' terminationGracePeriodSeconds, so the
	// lease is handed back before the kubelet kills the process. The next leader would
	// otherwise wait for it to expire.
	shutdownTimeout = 8 * time.Second

	// reconcileTimeout ends a reconcile that waits for a cache whose watch is broken;
	// it is tried again with backoff, and the worker is free for other resources.
	reconcileTimeout = time.Minute
)

// NewManager builds the manager that Main runs for a command line. It is for tests;
// adjust may change the options, and may be nil.
func NewManager(ctx context.Context, restConfig *rest.Config, o Options, adjust func(*ctrl.Options), args ...string) (ctrl.Manager, error) {
	s, err := parse(o, args)
	if err != nil {
		return nil, err
	}
	options := managerOptions(o, s)
	if adjust != nil {
		adjust(&options)
	}
	return newManager(ctx, restConfig, o, options)
}

func newManager(ctx context.Context, restConfig *rest.Config, o Options, options ctrl.Options) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	if err := addHealth(ctx, mgr, o.Cache); err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	if err := o.Setup(mgr); err != nil {
		return nil, fmt.Errorf("setting up the controllers: %w", err)
	}
	return mgr, nil
}

func managerOptions(o Options, s *settings) ctrl.Options {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(o.AddToScheme(scheme))
	return ctrl.Options{
		Scheme: scheme,
		Cache: cache.Options{
			ByObject:          o.Cache,
			DefaultNamespaces: cachedNamespaces(s.watchNamespaces),
			// A kind that Options.Cache does not list is a mistake: it would be cached
			// whole, in every namespace, and readiness would not wait for it.
			ReaderFailOnMissingInformer: true,
		},
		Client: client.Options{Cache: &client.CacheOptions{
			// A reconcile that starts before the cache has seen the writes of the one
			// before it would decide on the past and write everything again.
			// controller-runtime does not promise this for several namespaces; there, what
			// is written again changes nothing, and costs a request.
			EnableReadYourWritesConsistency: ptr.To(len(s.watchNamespaces) <= 1),
		}},
		Controller: config.Controller{
			MaxConcurrentReconciles: s.maxConcurrentReconciles,
			ReconciliationTimeout:   reconcileTimeout,
			// Replicas that are not the leader keep their caches warm: readiness means
			// the same for all of them, and a new leader acts at once.
			EnableWarmup: ptr.To(true),
		},
		LeaderElection:          s.leaderElect,
		LeaderElectionID:        o.Name,
		LeaderElectionNamespace: s.leaderElectionNamespace,
		// Safe because nothing runs after the manager has stopped but the end of main.
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       ptr.To(shutdownTimeout),
		HealthProbeBindAddress:        s.healthAddress,
		Metrics:                       metricsOptions(s),
		PprofBindAddress:              s.pprofAddress,
	}
}

func metricsOptions(s *settings) metricsserver.Options {
	o := metricsserver.Options{
		BindAddress:   s.metricsAddress,
		SecureServing: s.metricsSecure,
		CertDir:       s.metricsCertDir,
		// HTTP/1.1 only: HTTP/2 lets one client exhaust the server by resetting
		// streams (CVE-2023-44487), and a scrape gains nothing from it.
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
	}
	if s.metricsSecure {
		o.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	return o
}

// cachedNamespaces limits every informer to the given namespaces, which also lets
// the operator live with Roles in those namespaces only.
func cachedNamespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	namespaces := make(map[string]cache.Config, len(names))
	for _, name := range names {
		namespaces[name] = cache.Config{}
	}
	return namespaces
}
