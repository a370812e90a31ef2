// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

var (
	nodesWanted = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "memcached_operator_nodes_wanted",
		Help: "Nodes that a Memcached asks for.",
	}, []string{"namespace", "name"})

	nodesReady = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "memcached_operator_nodes_ready",
		Help: "Nodes of a Memcached that are ready.",
	}, []string{"namespace", "name"})
)

func init() {
	metrics.Registry.MustRegister(nodesWanted, nodesReady)
}

func gauge(m *v1alpha1.Memcached, wanted, ready int32) {
	nodesWanted.WithLabelValues(m.Namespace, m.Name).Set(float64(wanted))
	nodesReady.WithLabelValues(m.Namespace, m.Name).Set(float64(ready))
}

// forgetGauges ends the series of a resource that is gone: an alert on its last value
// would never end.
func forgetGauges(key types.NamespacedName) {
	nodesWanted.DeleteLabelValues(key.Namespace, key.Name)
	nodesReady.DeleteLabelValues(key.Namespace, key.Name)
}
