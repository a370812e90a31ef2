// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// statefulSet runs the nodes under names that stay: <name>-0.<name>.<namespace>.svc.
func statefulSet(m *v1alpha1.Memcached, images images) *appsv1ac.StatefulSetApplyConfiguration {
	spec := appsv1ac.StatefulSetSpec().
		WithServiceName(m.Name).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))).
		// Nodes do not know each other, so none has to wait for another to start. They
		// are still removed from the highest number down.
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		// A new template alone restarts no node: the operator decides, see live.go.
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithTemplate(podTemplate(m, images))
	if m.Spec.MinReadySeconds > 0 {
		spec.WithMinReadySeconds(m.Spec.MinReadySeconds)
	}
	// Without a size the field is not ours, and whatever is there stays.
	spec.Replicas = m.Spec.Size
	return appsv1ac.StatefulSet(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(spec)
}
