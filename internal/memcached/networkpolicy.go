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
func networkPolicy(m *v1alpha1.Memcached, operatorNamespace string) *networkingv1ac.NetworkPolicyApplyConfiguration {
	if m.Spec.NetworkPolicy == nil {
		return nil
	}
	rule := networkingv1ac.NetworkPolicyIngressRule().
		WithPorts(networkingv1ac.NetworkPolicyPort().
			// The API server would fill the protocol in, inside a list that is compared as a whole.
			WithProtocol(corev1.ProtocolTCP).
			WithPort(intstr.FromInt32(m.Spec.ContainerPort)))
	rule.WithFrom(clients(m)...)
	if m.Spec.Monitoring != nil {
		rule.WithFrom(networkingv1ac.NetworkPolicyPeer().WithPodSelector(
			metav1ac.LabelSelector().WithMatchLabels(companionSelector(m, componentMetrics))))
	}
	if operatorNamespace != "" {
		// It changes the memory of running nodes, and flushes them. Its namespace is part
		// of it: everyone can give a pod these labels.
		rule.WithFrom(networkingv1ac.NetworkPolicyPeer().
			WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: operatorNamespace})).
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"app.kubernetes.io/name": Name})))
	}
	return networkingv1ac.NetworkPolicy(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))).
			WithPolicyTypes(networkingv1.PolicyTypeIngress).
			WithIngress(rule))
}

// clients are those that the user wants to let in.
func clients(m *v1alpha1.Memcached) []*networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	if m.Spec.NetworkPolicy == nil {
		return nil
	}
	if len(m.Spec.NetworkPolicy.From) == 0 {
		// An empty list would let everyone in; an empty pod selector is the namespace.
		return []*networkingv1ac.NetworkPolicyPeerApplyConfiguration{
			networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector()),
		}
	}
	var peers []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	for i := range m.Spec.NetworkPolicy.From {
		peers = append(peers, as[networkingv1ac.NetworkPolicyPeerApplyConfiguration](&m.Spec.NetworkPolicy.From[i]))
	}
	return peers
}
