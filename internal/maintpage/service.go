// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// service leads visitors to one of the two sides.
func service(m *v1alpha1.MaintPage, seen *observed, to side) *corev1ac.ServiceApplyConfiguration {
	intent := corev1ac.Service(m.Spec.AppConfig.AppName, m.Namespace).
		WithLabels(serviceLabels(m)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(selectorLabels(m, to)).
			WithPorts(corev1ac.ServicePort().
				WithName(fmt.Sprintf("%d-tcp", port(m))).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(port(m)).
				WithTargetPort(intstr.FromInt32(port(m)))))
	if current, known := currentSide(m, seen); seen.service != nil && (!known || current != to) {
		// Decided by looking at this version: if it has changed, look again.
		intent.WithResourceVersion(seen.service.ResourceVersion)
	}
	return intent
}

// port is where both sides listen, and the port of the Service.
func port(m *v1alpha1.MaintPage) int32 {
	if m.Spec.AppConfig.Port != 0 {
		return m.Spec.AppConfig.Port
	}
	return v1alpha1.DefaultAppPort
}

// nextSide is where traffic may go now: to the wanted side if it can take it, and
// otherwise where it is. A switch to a side without a ready pod would be an outage.
func (p *plan) nextSide(m *v1alpha1.MaintPage, seen *observed, d demand) side {
	current, known := currentSide(m, seen)
	switch {
	case d.side == pageSide && p.pageServes(m, seen), d.side == appSide && appServes(m, seen):
		return d.side
	case known:
		return current
	default:
		// The Service is new, or its selector was changed by hand: back to where it was.
		return sideOf(m.Status.MaintPublishStatus)
	}
}

// appServes reports whether the application can take the traffic: with one ready pod,
// or after it was scaled to zero with as many as its Deployment wants at least.
func appServes(m *v1alpha1.MaintPage, seen *observed) bool {
	if !seen.appReady() {
		return releasing(m) && gaveUp(m, seen)
	}
	return !wasScaled(seen.deployment) || available(seen.deployment)
}

// currentSide is where the Service leads. It is not known if that is neither side.
func currentSide(m *v1alpha1.MaintPage, seen *observed) (s side, known bool) {
	switch {
	case seen.service == nil:
		return appSide, false
	case maps.Equal(seen.service.Spec.Selector, pageSelector(m)):
		return pageSide, true
	case maps.Equal(seen.service.Spec.Selector, appSelector(m, seen)):
		return appSide, true
	default:
		return appSide, false
	}
}

// pageSelector selects the page. The name alone is what users of our own Service know;
// beside the labels of an adopted application it could select pods of others.
func pageSelector(m *v1alpha1.MaintPage) map[string]string {
	if borrows(m) {
		return pageLabels(m)
	}
	return selectorLabels(m, pageSide)
}

// appSelector selects the application. An adopted one has a selector of its own.
func appSelector(m *v1alpha1.MaintPage, seen *observed) map[string]string {
	if borrows(m) {
		return originalSelector(m, seen)
	}
	return selectorLabels(m, appSide)
}

// available reports whether a Deployment has as many ready pods as it wants at least,
// at what its spec says now.
func available(deployment *appsv1.Deployment) bool {
	if deployment == nil || deployment.Status.ObservedGeneration < deployment.Generation || ptr.Deref(deployment.Spec.Replicas, 1) == 0 {
		return false
	}
	for _, c := range deployment.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable {
			return c.Status == corev1.ConditionTrue && deployment.Status.ReadyReplicas > 0
		}
	}
	return false
}
