// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// networkPolicy lets only the given clients reach the nodes. It is nil where the user
// asks for none.
func networkPolicy(m *v1alpha1.Memcached) *networkingv1ac.NetworkPolicyApplyConfiguration {
	if m.Spec.NetworkPolicy == nil {
		return nil
	}
	rule := networkingv1ac.NetworkPolicyIngressRule().
		WithPorts(networkingv1ac.NetworkPolicyPort().
			// The API server would fill the protocol in, inside a list that is compared as a whole.
			WithProtocol(corev1.ProtocolTCP).
			WithPort(intstr.FromInt32(m.Spec.ContainerPort)))
	for i := range m.Spec.NetworkPolicy.From {
		rule.WithFrom(as[networkingv1ac.NetworkPolicyPeerApplyConfiguration](&m.Spec.NetworkPolicy.From[i]))
	}
	if len(m.Spec.NetworkPolicy.From) == 0 {
		// An empty list would let everyone in; an empty pod selector is the namespace.
		rule.WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()))
	}
	return networkingv1ac.NetworkPolicy(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(rule))
}
