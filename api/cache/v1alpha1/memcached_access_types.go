// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	networkingv1 "k8s.io/api/networking/v1"
)

// MemcachedClientAuth says whether clients must show a certificate.
// +kubebuilder:validation:Enum=None;Require
type MemcachedClientAuth string

const (
	// ClientAuthNone encrypts connections and does not ask clients for a
	// certificate.
	ClientAuthNone MemcachedClientAuth = "None"
	// ClientAuthRequire refuses clients without a certificate of the Secret's CA.
	ClientAuthRequire MemcachedClientAuth = "Require"
)

// MemcachedTLS is where certificates come from and what they are used for.
type MemcachedTLS struct {
	// secretName names a Secret in the same namespace with the keys `tls.crt` and
	// `tls.key`, and `ca.crt` when clientAuth is Require: the layout of
	// cert-manager and of `kubectl create secret tls`. A certificate that is
	// restricted to some uses must be for servers, and for clients, too, when
	// clientAuth is Require: the operator shows it to the nodes. New contents of
	// the Secret are served without a restart. Naming another Secret restarts the
	// nodes, which empties them.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`

	// clientAuth says whether clients must show a certificate. It defaults to
	// None.
	// None: the connection is encrypted, and any client may connect.
	// Require: only clients with a certificate signed by the Secret's `ca.crt` may
	// connect (mutual TLS). A change restarts the nodes, which empties them.
	// +optional
	// +kubebuilder:default=None
	ClientAuth MemcachedClientAuth `json:"clientAuth,omitempty"`
}

// MemcachedAuth is where user names and passwords come from.
type MemcachedAuth struct {
	// secretName names a Secret in the same namespace, either with the keys
	// `username` and `password` for one user (the type kubernetes.io/basic-auth),
	// or with the key `users` for up to 8, one `name:password` in each line. A name
	// and its password have at most 200 bytes and no spaces. New contents of the
	// Secret take effect without a restart. Naming another Secret restarts the
	// nodes, which empties them.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
}

// MemcachedServiceType is how the Service presents the nodes to clients.
// +kubebuilder:validation:Enum=Headless;ClusterIP
type MemcachedServiceType string

const (
	// ServiceHeadless resolves the Service's name to the addresses of all nodes.
	ServiceHeadless MemcachedServiceType = "Headless"
	// ServiceClusterIP puts one balanced address before all nodes.
	ServiceClusterIP MemcachedServiceType = "ClusterIP"
)

// MemcachedService describes the Service named after the resource.
type MemcachedService struct {
	// type is how the Service presents the nodes. It defaults to Headless.
	// Headless: the name resolves to every node, and the client spreads its keys
	// over them.
	// ClusterIP: one address, balanced over the nodes. Each node is a cache of its
	// own, so with more than one node a client reads from another node than it
	// wrote to, and misses. Use it with size 1 only. It needs workload Deployment.
	// A change replaces the Service, and its address; it restarts no node.
	// +optional
	// +kubebuilder:default=Headless
	Type MemcachedServiceType `json:"type,omitempty"`
}

// MemcachedDiscovery describes the endpoint that tells clients the list of nodes.
// +kubebuilder:validation:XValidation:rule="self.port != self.httpPort",message="discovery.port and discovery.httpPort must differ: change one of them"
type MemcachedDiscovery struct {
	// replicas is the number of pods that answer. It defaults to 2, so that one is
	// left when a cluster node goes; it is from 1 to 10.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas int32 `json:"replicas,omitempty"`

	// port is where `config get cluster` is answered. It defaults to 11211, where
	// clients expect it.
	// +optional
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// httpPort is where the list of nodes is served over HTTP, as text or JSON. It
	// defaults to 8080.
	// +optional
	// +kubebuilder:default=8080
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	HTTPPort int32 `json:"httpPort,omitempty"`
}

// MemcachedMonitoring describes where and how the metrics of the nodes are served.
type MemcachedMonitoring struct {
	// port is where the metrics of all nodes are served, under /metrics. It
	// defaults to 9150, the port of the Prometheus project's memcached_exporter,
	// whose metric names are used.
	// +optional
	// +kubebuilder:default=9150
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// serviceMonitor creates a ServiceMonitor, which makes the Prometheus Operator
	// scrape the metrics. Without it there is none. Where the cluster does not
	// know ServiceMonitors nothing is created until it does; the condition
	// Degraded then has the reason ServiceMonitorUnknown, and is False.
	// +optional
	ServiceMonitor *MemcachedServiceMonitor `json:"serviceMonitor,omitempty"`
}

// MemcachedServiceMonitor describes the ServiceMonitor.
type MemcachedServiceMonitor struct {
	// intervalSeconds is the time between two scrapes. It defaults to 30, and is
	// from 1 to 3600.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3600
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`

	// labels are put on the ServiceMonitor; many installations of Prometheus
	// select ServiceMonitors by a label.
	// +optional
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=32
	Labels map[string]string `json:"labels,omitempty"`
}

// MemcachedNetworkPolicy says who may reach the nodes.
type MemcachedNetworkPolicy struct {
	// from are the clients that may connect to the nodes, as in a NetworkPolicy.
	// It defaults to all pods in the same namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	From []networkingv1.NetworkPolicyPeer `json:"from,omitempty"`
}
