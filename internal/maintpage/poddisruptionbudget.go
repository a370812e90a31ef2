// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// podDisruptionBudget keeps drains from taking all pods of the page at a time. It is
// nil for a single one, which nothing but its stand-in can cover.
func podDisruptionBudget(m *v1alpha1.MaintPage) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if m.Spec.Page.Replicas <= 1 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(pageName(m), m.Namespace).
		WithLabels(childLabels(m, pageSide)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(deployedPageLabels(m))).
			WithMaxUnavailable(intstr.FromInt32(1)).
			// One that serves nobody must not block a drain.
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
