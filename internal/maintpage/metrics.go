// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

var (
	publishedGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "maintpage_operator_published",
		Help: "1 while visitors see the maintenance page, 0 while they see the application.",
	}, []string{"namespace", "name"})

	switchingGauge = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "maintpage_operator_switching",
		Help: "1 while a switch of traffic goes on or waits for its target, 0 otherwise.",
	}, []string{"namespace", "name"})
)

func init() {
	metrics.Registry.MustRegister(publishedGauge, switchingGauge)
}

// count tells the state of a resource to Prometheus.
func count(key types.NamespacedName, s *v1alpha1.MaintPageStatus) {
	var published, switching float64
	if s.MaintPublishStatus == v1alpha1.StatusPublished {
		published = 1
	}
	if len(s.History) > 0 && s.History[0].CompletionTime.IsZero() {
		switching = 1
	}
	publishedGauge.WithLabelValues(key.Namespace, key.Name).Set(published)
	switchingGauge.WithLabelValues(key.Namespace, key.Name).Set(switching)
}

// uncount removes a resource that is gone.
func uncount(key types.NamespacedName) {
	publishedGauge.DeleteLabelValues(key.Namespace, key.Name)
	switchingGauge.DeleteLabelValues(key.Namespace, key.Name)
}
