// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

const pageContainer = "maintpage"

func podName(m *v1alpha1.MaintPage) string { return m.Name + "-maintpage-pod" }

// pod serves the maintenance page from the user's image. Of a running pod only the
// image can change; the rest of this must stay the same from version to version.
func pod(m *v1alpha1.MaintPage) *corev1ac.PodApplyConfiguration {
	return corev1ac.Pod(podName(m), m.Namespace).
		WithLabels(childLabels(m, pageSide)).
		WithSpec(corev1ac.PodSpec().
			WithAutomountServiceAccountToken(false).
			WithSecurityContext(corev1ac.PodSecurityContext().
				WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
			WithContainers(webContainer(m, pageContainer, m.Spec.MaintPageConfig.MaintPageImage)))
}

// webContainer is a container of either side. It is ready when it listens on the port
// that the Service sends traffic to: traffic is never switched to one that does not.
func webContainer(m *v1alpha1.MaintPage, name, image string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(name).
		WithImage(image).
		WithPorts(corev1ac.ContainerPort().WithContainerPort(port(m))).
		WithReadinessProbe(corev1ac.Probe().
			WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(port(m)))).
			WithPeriodSeconds(2))
}

// port is where both sides listen, and the port of the Service.
func port(m *v1alpha1.MaintPage) int32 {
	if m.Spec.AppConfig.Port != 0 {
		return m.Spec.AppConfig.Port
	}
	return v1alpha1.DefaultAppPort
}
