// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// service leads visitors to one of the two sides.
func service(m *v1alpha1.MaintPage, to side) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(m.Spec.AppConfig.AppName, m.Namespace).
		WithLabels(childLabels(m, appSide)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(selectorLabels(m, to)).
			WithPorts(corev1ac.ServicePort().
				WithName(fmt.Sprintf("%d-tcp", port(m))).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(port(m)).
				WithTargetPort(intstr.FromInt32(port(m)))))
}

// wantedSide is where the user wants traffic to go.
func wantedSide(m *v1alpha1.MaintPage) side {
	return side(m.Spec.MaintPageConfig.MaintPageToggle)
}

// nextSide is where traffic may go now: to the wanted side if it can take it, and
// otherwise where it is. A switch to a side without a ready pod would be an outage.
func nextSide(m *v1alpha1.MaintPage, seen *observed) side {
	wanted := wantedSide(m)
	if wanted == pageSide && seen.pageReady() || wanted == appSide && seen.appReady() {
		return wanted
	}
	if current, ok := currentSide(m, seen.service); ok {
		return current
	}
	// The Service is new, or its selector was changed by hand: back to where it was.
	return side(m.Status.MaintPublishStatus == v1alpha1.StatusPublished)
}

// currentSide is where the Service leads. It is not ok if that is neither side.
func currentSide(m *v1alpha1.MaintPage, service *corev1.Service) (s side, ok bool) {
	if service == nil {
		return appSide, false
	}
	for _, s := range []side{appSide, pageSide} {
		if maps.Equal(service.Spec.Selector, selectorLabels(m, s)) {
			return s, true
		}
	}
	return appSide, false
}
