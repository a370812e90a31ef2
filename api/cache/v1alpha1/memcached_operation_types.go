// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MemcachedDisruption limits how many nodes may be away at a time on purpose.
type MemcachedDisruption struct {
	// maxUnavailable is how many nodes, as a number or a percentage of size, may
	// be evicted at a time. It defaults to 1. It cannot be 0: that would block
	// every drain of a cluster node.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",message="maxUnavailable must be a number of at least 1 or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// MemcachedWarmup says when a restarted node is warm enough for the next one to be restarted.
type MemcachedWarmup struct {
	// hitRatePercent is the share of the hit rate it had before the restart that a
	// node must reach again, from 1 to 100. It defaults to 80.
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	HitRatePercent int32 `json:"hitRatePercent,omitempty"`

	// timeoutSeconds is how long to wait for that; after it the next node is
	// restarted all the same. It defaults to 600, and is from 1 to 86400.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// MemcachedFlush asks for the nodes to be emptied one after the other.
type MemcachedFlush struct {
	// token names this flush, for example a date or a release. The nodes are
	// flushed once for every new token; status.flush tells how far that is.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Token string `json:"token"`

	// pauseSeconds is the time between two nodes. It defaults to 60, and is from 0
	// to 86400.
	// +optional
	// +kubebuilder:default=60
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	PauseSeconds *int32 `json:"pauseSeconds,omitempty"`
}

// MemcachedPodMetadata are labels and annotations for pods.
type MemcachedPodMetadata struct {
	// labels are added to the memcached pods. `app` and `memcached_cr` belong to
	// the operator, which selects its pods by them.
	// +optional
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!('app' in self) && !('memcached_cr' in self)",message="the labels app and memcached_cr select the pods of this resource and cannot be set: use another label"
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are added to the memcached pods.
	// +optional
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}
