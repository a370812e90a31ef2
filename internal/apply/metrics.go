// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const (
	operationCreate  = "create"
	operationUpdate  = "update"
	operationDelete  = "delete"
	operationReclaim = "reclaim"
)

var (
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "web_operators_child_writes_total",
		Help: "Requests that changed, or could have changed, an object that a resource owns.",
	}, []string{"kind", "operation"})

	skips = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "web_operators_child_writes_skipped_total",
		Help: "Writes that were not sent because the object was as intended already.",
	}, []string{"kind"})
)

func init() {
	metrics.Registry.MustRegister(writes, skips)
}
