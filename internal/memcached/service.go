// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// service leads clients to the nodes.
func service(m *v1alpha1.Memcached) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(selectorLabels(m)).
		WithPorts(corev1ac.ServicePort().
			WithName(portName).
			WithPort(m.Spec.ContainerPort).
			WithTargetPort(intstr.FromString(portName)))
	if wantsHeadless(m) {
		spec.WithClusterIP(corev1.ClusterIPNone)
	}
	return corev1ac.Service(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(spec)
}

func wantsHeadless(m *v1alpha1.Memcached) bool {
	return m.Spec.Service.Type != v1alpha1.ServiceClusterIP
}

func isHeadless(service *corev1.Service) bool {
	return service.Spec.ClusterIP == corev1.ClusterIPNone
}

// serviceAddress is the Service's name as every pod of the cluster can resolve it.
func serviceAddress(m *v1alpha1.Memcached) string {
	return fmt.Sprintf("%s.%s.svc:%d", m.Name, m.Namespace, m.Spec.ContainerPort)
}
