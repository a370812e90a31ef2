// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"flag"
	"fmt"
	"strings"

	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// settings are what the command line can say about any operator.
type settings struct {
	leaderElect             bool
	leaderElectionNamespace string
	healthAddress           string
	metricsAddress          string
	metricsSecure           bool
	metricsCertDir          string
	pprofAddress            string
	watchNamespaces         namespaceList
	maxConcurrentReconciles int
	printVersion            bool
	log                     zap.Options
}

// bind registers the flags with their defaults.
func (s *settings) bind(flags *flag.FlagSet) {
	flags.BoolVar(&s.leaderElect, "leader-elect", false,
		"Let only one of several running replicas act at a time.")
	flags.StringVar(&s.leaderElectionNamespace, "leader-election-namespace", "",
		"The namespace of the leader election lease. Empty means the namespace of the operator's own pod.")
	flags.StringVar(&s.healthAddress, "health-probe-bind-address", ":8081",
		"The address that serves /healthz and /readyz.")
	flags.StringVar(&s.metricsAddress, "metrics-bind-address", ":8443",
		"The address that serves /metrics. 0 turns it off.")
	flags.BoolVar(&s.metricsSecure, "metrics-secure", true,
		"Serve metrics over HTTPS to authenticated and authorized clients only.")
	flags.StringVar(&s.metricsCertDir, "metrics-cert-dir", "",
		"The directory of tls.crt and tls.key for the metrics server. Empty means a self-signed certificate.")
	flags.StringVar(&s.pprofAddress, "pprof-bind-address", "",
		"The address that serves profiles. Empty turns it off.")
	flags.Var(&s.watchNamespaces, "watch-namespaces",
		"The namespaces to work in, separated by commas. Empty means all of them.")
	flags.IntVar(&s.maxConcurrentReconciles, "max-concurrent-reconciles", 4,
		"How many resources may be reconciled at the same time.")
	flags.BoolVar(&s.printVersion, "version", false,
		"Print the version and exit.")
	s.log.TimeEncoder = zapcore.RFC3339TimeEncoder // people read logs, too
	// The stack of a failed reconcile is that of controller-runtime, always the same.
	s.log.StacktraceLevel = zapcore.PanicLevel
	s.log.BindFlags(flags)
	config.RegisterFlags(flags)
}

// validate finds what the flag package cannot see.
func (s *settings) validate() error {
	if s.maxConcurrentReconciles < 1 {
		return fmt.Errorf("--max-concurrent-reconciles must be at least 1, not %d", s.maxConcurrentReconciles)
	}
	return nil
}

// namespaceList is a flag value: namespace names separated by commas.
type namespaceList []string

func (l *namespaceList) String() string { return strings.Join(*l, ",") }

// Set refuses what cannot be a namespace: a misspelled name would otherwise be an
// operator that watches nothing and says nothing.
func (l *namespaceList) Set(value string) error {
	*l = nil
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return fmt.Errorf("%q is not a namespace name: %s", name, strings.Join(problems, "; "))
		}
		*l = append(*l, name)
	}
	return nil
}
