// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// pageName is the name of everything that belongs to the page but its pod.
func pageName(m *v1alpha1.MaintPage) string { return m.Name + "-maintpage" }

// pageDeployment runs several pods of the page, or one that stands in for the single
// one.
func pageDeployment(m *v1alpha1.MaintPage, image string, ports []pagePort, replicas int32) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(pageName(m), m.Namespace).
		WithLabels(childLabels(m, pageSide)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(deployedPageLabels(m))).
			// The new one first: visitors may be looking at the old one.
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(1)).
					WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(childLabels(m, pageSide)).
				WithLabels(deployedPageLabels(m)).
				WithSpec(pagePodSpec(m, image, ports).
					WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
						WithMaxSkew(1).
						WithTopologyKey(corev1.LabelHostname).
						WithWhenUnsatisfiable(corev1.ScheduleAnyway).
						WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(pageLabels(m)))))))
}

// deployedPageLabels select the Deployment's pods, and not the single one beside them.
func deployedPageLabels(m *v1alpha1.MaintPage) map[string]string {
	all := pageLabels(m)
	all["maintpage.example.com/replicated"] = "true"
	return all
}
