// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"maps"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// metricsPort is the name of the Service's port that Prometheus scrapes.
const metricsPort = "metrics"

// serviceMonitorKind is known to clusters that run the Prometheus Operator.
var serviceMonitorKind = apply.Kind{
	GroupVersionKind: monitoringv1.SchemeGroupVersion.WithKind(monitoringv1.ServiceMonitorsKind),
	Atomic:           []string{"selector"},
}

// serviceMonitorIntent is the apply-configuration that the module of its types does not
// have.
type serviceMonitorIntent struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`

	Spec *monitoringv1.ServiceMonitorSpec `json:"spec,omitempty"`
}

// IsApplyConfiguration marks it as one.
func (*serviceMonitorIntent) IsApplyConfiguration() {}

// serviceMonitor makes the Prometheus Operator scrape the metrics. It is nil where the
// user asks for none.
func serviceMonitor(m *v1alpha1.Memcached) *serviceMonitorIntent {
	if !wantsServiceMonitor(m) {
		return nil
	}
	asked := m.Spec.Monitoring.ServiceMonitor
	labels := maps.Clone(asked.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, companionLabels(m, componentMetrics))
	intent := &serviceMonitorIntent{
		ObjectMetaApplyConfiguration: metav1ac.ObjectMeta().WithName(m.Name).WithNamespace(m.Namespace).WithLabels(labels),
		Spec: &monitoringv1.ServiceMonitorSpec{
			// The job is the resource, under its own name.
			JobLabel: labelResource,
			Selector: metav1.LabelSelector{MatchLabels: companionSelector(m, componentMetrics)},
			Endpoints: []monitoringv1.Endpoint{{
				Port:     metricsPort,
				Path:     "/metrics",
				Interval: monitoringv1.Duration(fmt.Sprintf("%ds", asked.IntervalSeconds)),
				// One target tells of all nodes. Dashboards that know one exporter beside
				// each node tell the nodes apart by instance.
				MetricRelabelConfigs: []monitoringv1.RelabelConfig{{
					Action:       "replace",
					SourceLabels: []monitoringv1.LabelName{"node"},
					Regex:        "(.+)",
					TargetLabel:  "instance",
				}},
			}},
		},
	}
	intent.WithKind(serviceMonitorKind.Kind).WithAPIVersion(serviceMonitorKind.GroupVersion().String())
	return intent
}

func wantsServiceMonitor(m *v1alpha1.Memcached) bool {
	return m.Spec.Monitoring != nil && m.Spec.Monitoring.ServiceMonitor != nil
}

// WithUID is a part of every apply-configuration.
func (i *serviceMonitorIntent) WithUID(uid types.UID) *serviceMonitorIntent {
	i.ObjectMetaApplyConfiguration.WithUID(uid)
	return i
}

// WithOwnerReferences is a part of every apply-configuration.
func (i *serviceMonitorIntent) WithOwnerReferences(references ...*metav1ac.OwnerReferenceApplyConfiguration) *serviceMonitorIntent {
	i.ObjectMetaApplyConfiguration.WithOwnerReferences(references...)
	return i
}
