// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// deployment runs the application.
func deployment(m *v1alpha1.MaintPage, seen *observed) *appsv1ac.DeploymentApplyConfiguration {
	app := m.Spec.AppConfig
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m, appSide))).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(childLabels(m, appSide)).
			WithSpec(corev1ac.PodSpec().
				WithContainers(webContainer(app.AppName, app.AppImage, []pagePort{{number: port(m)}}, appLeaveSeconds))))
	// Without a number the field is not ours: the API server starts with one, and an
	// autoscaler or kubectl scale may go on from there. Nor is it while the application
	// is stopped, see scale.go.
	if !wasScaled(seen.deployment) {
		spec.Replicas = app.Replicas
	}
	return appsv1ac.Deployment(app.AppName, m.Namespace).
		WithLabels(childLabels(m, appSide)).
		WithSpec(spec)
}
