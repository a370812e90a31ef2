// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of the conditions of a Memcached.
const (
	// ConditionAvailable is true when every node of the current generation is
	// ready and clients can find it.
	ConditionAvailable = "Available"
	// ConditionProgressing is true while the operator brings the nodes to the
	// current generation; the message is its plan.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is true when something keeps the nodes from the wanted
	// state; the reason names the cause.
	ConditionDegraded = "Degraded"
)

// MemcachedPhase sums the conditions up in one word.
// +kubebuilder:validation:Enum=Pending;Running;Updating;Degraded;Terminating
type MemcachedPhase string

const (
	// PhasePending means that no node has been ready yet.
	PhasePending MemcachedPhase = "Pending"
	// PhaseRunning means that all nodes are ready and current.
	PhaseRunning MemcachedPhase = "Running"
	// PhaseUpdating means that nodes are being added, removed or changed.
	PhaseUpdating MemcachedPhase = "Updating"
	// PhaseDegraded means that the wanted state cannot be reached, or has been
	// lost.
	PhaseDegraded MemcachedPhase = "Degraded"
	// PhaseTerminating means that the resource is being deleted.
	PhaseTerminating MemcachedPhase = "Terminating"
)

// MemcachedStatus is what the operator last saw.
type MemcachedStatus struct {
	// observedGeneration is the generation of the spec that this status describes.
	// When it is smaller than metadata.generation, the operator has not seen the
	// last change yet.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase sums the conditions up in one word, for people; programs should read
	// the conditions.
	// +optional
	Phase MemcachedPhase `json:"phase,omitempty"`

	// conditions tell the state and its cause: Available, Progressing and
	// Degraded.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// nodes are the names of the memcached pods that exist and are not being
	// deleted, sorted; those of a StatefulSet by their number.
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// size is the number of memcached pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Size int32 `json:"size,omitempty"`

	// selector selects the memcached pods, as text; autoscalers read it through
	// the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`

	// readyNodes is the number of nodes that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyNodes int32 `json:"readyNodes,omitempty"`

	// ready is readyNodes and the wanted size, such as 2/3.
	// +optional
	Ready string `json:"ready,omitempty"`

	// image is the image that the nodes run or are being changed to.
	// +optional
	Image string `json:"image,omitempty"`

	// endpoint is the address that clients are best given, as host:port: that of
	// discovery where there is one, else that of the Service.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// endpoints are all the ways to reach the nodes.
	// +optional
	Endpoints MemcachedEndpoints `json:"endpoints,omitzero"`

	// restart tells about the node that was restarted last for a change of the
	// spec. Only workload StatefulSet has it.
	// +optional
	Restart *MemcachedRestartStatus `json:"restart,omitempty"`

	// flush tells how far the last flush is that spec.flush asked for.
	// +optional
	Flush *MemcachedFlushStatus `json:"flush,omitempty"`
}

// MemcachedEndpoints are the ways to reach the nodes of a Memcached.
type MemcachedEndpoints struct {
	// service is the Service's address, as host:port.
	// +optional
	Service string `json:"service,omitempty"`

	// nodes are the addresses of the single nodes, as host:port, in the order of
	// their numbers. Only workload StatefulSet has them: the pods of a Deployment
	// have no lasting address.
	// +optional
	// +listType=atomic
	Nodes []string `json:"nodes,omitempty"`

	// discovery is where `config get cluster` is answered, as host:port.
	// +optional
	Discovery string `json:"discovery,omitempty"`

	// nodeList is the URL of the list of nodes over HTTP.
	// +optional
	NodeList string `json:"nodeList,omitempty"`

	// metrics is the URL of the Prometheus metrics.
	// +optional
	Metrics string `json:"metrics,omitempty"`
}

// MemcachedRestartStatus tells about the node that was restarted last.
type MemcachedRestartStatus struct {
	// node is its name.
	// +required
	Node string `json:"node"`

	// uid is that of the pod that was replaced.
	// +required
	UID string `json:"uid"`

	// startTime is when it was restarted.
	// +required
	StartTime metav1.Time `json:"startTime,omitzero"`

	// hitRatePercent is the share of reads that it had the item for before. It is
	// absent when it had hardly any reads.
	// +optional
	HitRatePercent int32 `json:"hitRatePercent,omitempty"`

	// warm is true when it is ready again, and has its hit rate back as far as
	// spec.warmup asks for it.
	// +optional
	Warm bool `json:"warm,omitempty"`
}

// MemcachedFlushStatus tells how far a flush is.
type MemcachedFlushStatus struct {
	// token is the spec.flush.token that this describes.
	// +required
	Token string `json:"token"`

	// flushedNodes are the names of the nodes that have been flushed for this
	// token.
	// +optional
	// +listType=atomic
	FlushedNodes []string `json:"flushedNodes,omitempty"`

	// lastFlushTime is when the last of them was flushed.
	// +optional
	LastFlushTime metav1.Time `json:"lastFlushTime,omitzero"`

	// completionTime is when all nodes had been flushed. It is absent until then.
	// +optional
	CompletionTime metav1.Time `json:"completionTime,omitzero"`
}
