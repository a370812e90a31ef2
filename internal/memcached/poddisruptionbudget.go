// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// podDisruptionBudget keeps drains from taking too many nodes at a time. It is nil
// where the user asks for none.
func podDisruptionBudget(m *v1alpha1.Memcached) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if m.Spec.Disruption == nil {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))).
			WithMaxUnavailable(ptr.Deref(m.Spec.Disruption.MaxUnavailable, intstr.FromInt32(1))).
			// A node that does not run has no items to lose, and must not block a drain.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
