// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemcachedWorkload is the kind of object that runs the nodes.
// +kubebuilder:validation:Enum=Deployment;StatefulSet
type MemcachedWorkload string

const (
	// WorkloadDeployment runs the nodes as interchangeable pods.
	WorkloadDeployment MemcachedWorkload = "Deployment"
	// WorkloadStatefulSet runs the nodes under stable names, which live operations
	// need.
	WorkloadStatefulSet MemcachedWorkload = "StatefulSet"
)

// MemcachedSpec is the cache that the user wants.
// ---
// These rules are here and not at the fields because each compares several fields. Fields with a default need has()
// all the same: the API server also checks spec's own default, {}, in which they are not filled in, and refuses the CRD.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxItemSize) || !has(self.memory) || quantity(string(self.maxItemSize)).add(quantity(string(self.maxItemSize))).compareTo(quantity(string(self.memory))) <= 0",message="maxItemSize must be at most half of memory: raise memory or lower maxItemSize",fieldPath=".maxItemSize"
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.resources.limits) || !('memory' in self.resources.limits) || !has(self.memory) || quantity(string(self.resources.limits['memory'])).compareTo(quantity(string(self.memory))) > 0",message="resources.limits.memory must be larger than memory, because connections, threads and the hash table need room beside the items: raise it, lower memory, or remove it to have it derived",fieldPath=".resources"
// +kubebuilder:validation:XValidation:rule="!has(self.workload) || self.workload != 'StatefulSet' || !has(self.service) || self.service.type == 'Headless'",message="workload StatefulSet needs service.type Headless, because its nodes are reached by their own names under the Service: set service.type to Headless",fieldPath=".service"
// +kubebuilder:validation:XValidation:rule="!has(self.warmup) || has(self.workload) && self.workload == 'StatefulSet'",message="warmup needs workload StatefulSet, because a Deployment does not wait between its pods: set workload to StatefulSet or remove warmup",fieldPath=".warmup"
type MemcachedSpec struct {
	// size is the number of memcached nodes. It defaults to 1; 0 stops all nodes
	// and keeps the resource. `kubectl scale` and autoscalers change this field
	// through the scale subresource. Adding or removing a node moves a share of
	// the keys to other nodes; a removed node's items are lost.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	Size *int32 `json:"size,omitempty"`

	// image is the memcached image that the nodes run, a 1.6 release. It defaults
	// to the image that the operator was configured with (MEMCACHED_IMAGE). A
	// change restarts the nodes one after the other, which empties them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// containerPort is the port that memcached listens on, and the port of the
	// Service. It defaults to 11211. A change restarts the nodes, which empties
	// them, and clients must follow.
	// +optional
	// +kubebuilder:default=11211
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	ContainerPort int32 `json:"containerPort,omitempty"`

	// workload is the kind of object that runs the nodes. It defaults to
	// Deployment.
	// Deployment: interchangeable pods; every change of their settings replaces,
	// and so empties, them.
	// StatefulSet: nodes under names that stay
	// (`<name>-0.<name>.<namespace>.svc`). Their memory and resources change
	// while they run; other settings restart them one after the other, each when
	// the one before is ready, and warm where warmup asks for it.
	// Changing the workload replaces all nodes, which empties them; the old ones
	// go when the new ones are ready.
	// +optional
	// +kubebuilder:default=Deployment
	Workload MemcachedWorkload `json:"workload,omitempty"`

	// memory is how much memory each node has for items (memcached's -m), at least
	// 8Mi, rounded down to whole mebibytes. It defaults to 64Mi. The container's
	// requests and limits are derived from it and are larger. A change keeps the
	// items of workload StatefulSet: its nodes grow and shrink while they run, and
	// a smaller one keeps what fits. A Deployment's nodes are replaced one after
	// the other, which empties them.
	// +optional
	// +kubebuilder:default="64Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('8Mi')) >= 0",message="memory must be at least 8Mi, the least that memcached runs with; quantities need their unit, such as 64Mi"
	Memory resource.Quantity `json:"memory,omitzero"`

	// maxConnections is how many clients may be connected to a node at a time
	// (memcached's -c, which keeps about 25 of them for itself); more are refused.
	// It defaults to 1024. It counts in the container's derived memory. A change
	// restarts the nodes, which empties them.
	// +optional
	// +kubebuilder:default=1024
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	MaxConnections int32 `json:"maxConnections,omitempty"`

	// threads is the number of memcached's worker threads (-t), at most 64. It
	// defaults to 4; more than one per core brings nothing. It counts in the
	// container's derived CPU and memory. A change restarts the nodes, which
	// empties them.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Threads int32 `json:"threads,omitempty"`

	// maxItemSize is the largest item that a node stores, key and value together
	// (memcached's -I): a multiple of 512Ki up to 1Gi, or a power of two from 1Ki
	// to 256Ki, and at most half of memory. It defaults to 1Mi. A change restarts
	// the nodes, which empties them.
	// +optional
	// +kubebuilder:default="1Mi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('1Ki')) >= 0 && quantity(string(self)).compareTo(quantity('1Gi')) <= 0",message="maxItemSize must be from 1Ki to 1Gi, which are memcached's limits"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && (quantity(string(self)).asInteger() % 524288 == 0 || (quantity(string(self)).asInteger() > 0 && 1048576 % quantity(string(self)).asInteger() == 0))",message="maxItemSize must be a multiple of 512Ki (512Ki, 1Mi, 1536Ki, ...) or a power of two below it (1Ki, 2Ki, ..., 256Ki), because memcached divides its 1Mi pages evenly"
	MaxItemSize resource.Quantity `json:"maxItemSize,omitzero"`

	// extraArgs are further arguments of memcached, for what has no field here,
	// such as `-o`, `modern` or `-v`. Options that a field of this resource sets,
	// or that would break how the operator runs memcached, are refused. A change
	// restarts the nodes, which empties them.
	// ---
	// The rules know memcached's getopt: letters of options without a value may stand before the one looked for
	// (`-vm64`), and long options may be shortened as long as they are unambiguous. A rule that knows `-m` alone
	// lets the others through, and memcached runs with another limit than its container was sized for.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*m|--memory-l)')",message="do not pass -m (--memory-limit): set spec.memory"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*p|--po)')",message="do not pass -p (--port): set spec.containerPort"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*c|--c)')",message="do not pass -c (--conn-limit): set spec.maxConnections"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*t|--t)')",message="do not pass -t (--threads): set spec.threads"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*I|--max-i)')",message="do not pass -I (--max-item-size): set spec.maxItemSize"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AMkhiVrvdLCSFXW]*Z|--enable-ss)|ssl_')",message="do not pass -Z (--enable-ssl) or -o ssl_*: set spec.tls"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCFXW]*[SY]|--enable-sa|--a)')",message="do not pass -Y (--auth-file) or -S (--enable-sasl): set spec.auth"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*[aBlsU]|--(uni|ud|listen$|listen=|pr))')",message="do not pass -l (--listen), -U (--udp-port), -s (--unix-socket), -a (--unix-mask) or -B (--protocol): memcached listens on spec.containerPort only, because another listener would pass by tls, auth and networkPolicy"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkrvLCSFXW]*[dhiuPV]|--(d$|da|h|lic|us|pi|vers))')",message="do not pass -d, -u, -P, -h, -i or -V: memcached runs in the foreground of its container, as a user that the operator chooses"
	// +kubebuilder:validation:items:XValidation:rule="!self.matches('^(-[AZMkhiVrvdLCSFXW]*e|--memory-f)')",message="do not pass -e (--memory-file): with it memcached refuses to change its memory, see spec.memory"
	// +kubebuilder:validation:items:XValidation:rule="self != '--'",message="do not pass --: memcached would ignore every argument after it"
	ExtraArgs []string `json:"extraArgs,omitempty"`

	// resources override the requests and limits of the memcached container, each
	// by its name (`limits.memory`); what is not given stays derived from memory,
	// maxConnections and threads. limits.memory must be larger than memory. A
	// change is made to the running nodes of workload StatefulSet. A Deployment's
	// nodes are replaced one after the other, which empties them.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.claims)",message="resources.claims is not supported: remove it"
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// tls makes the nodes speak TLS, and nothing else, with a certificate from a
	// Secret. Setting or removing it restarts the nodes, which empties them; a
	// renewed certificate does not.
	// +optional
	TLS *MemcachedTLS `json:"tls,omitempty"`

	// auth makes the nodes ask for a user name and a password, from a Secret.
	// Setting or removing it restarts the nodes, which empties them; a changed
	// password does not.
	// +optional
	Auth *MemcachedAuth `json:"auth,omitempty"`

	// service describes the Service named after this resource, through which
	// clients find the nodes.
	// +optional
	// +kubebuilder:default={}
	Service MemcachedService `json:"service,omitzero"`

	// discovery runs an endpoint, `<name>-discovery`, where clients that know
	// `config get cluster` read the list of nodes; people and scripts read it over
	// HTTP. Without it there is none. Setting it restarts no node.
	// +optional
	Discovery *MemcachedDiscovery `json:"discovery,omitempty"`

	// monitoring serves Prometheus metrics of all nodes at one address. Without it
	// there are none. Setting it restarts no node: nothing is added to their pods.
	// +optional
	Monitoring *MemcachedMonitoring `json:"monitoring,omitempty"`

	// disruption protects the nodes from too many voluntary evictions at a time,
	// such as node drains, by a PodDisruptionBudget. Without it there is none.
	// Setting it restarts no node.
	// +optional
	Disruption *MemcachedDisruption `json:"disruption,omitempty"`

	// networkPolicy lets only the given clients reach the nodes. Without it
	// everyone in the cluster may, and memcached without auth obeys everyone who
	// reaches it. Setting it restarts no node. It needs a network plugin that
	// enforces it.
	// +optional
	NetworkPolicy *MemcachedNetworkPolicy `json:"networkPolicy,omitempty"`

	// minReadySeconds is how long a restarted node must have been ready before it
	// counts as available and the next one may be restarted. It defaults to 0, and
	// is at most 3600. A change restarts no node.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// warmup makes a rolling restart wait, after each node, until that node's hit
	// rate has recovered. Without it only readiness and minReadySeconds are waited
	// for. It needs workload StatefulSet. A change restarts no node.
	// +optional
	Warmup *MemcachedWarmup `json:"warmup,omitempty"`

	// flush empties the nodes one after the other, with a pause between them, so
	// that not all keys miss at once. It restarts no node.
	// +optional
	Flush *MemcachedFlush `json:"flush,omitempty"`

	// podMetadata are labels and annotations for the memcached pods. A change
	// restarts the nodes, which empties them.
	// +optional
	PodMetadata MemcachedPodMetadata `json:"podMetadata,omitzero"`

	// nodeSelector are the labels that a cluster node must have to run a memcached
	// node, or a pod of discovery or monitoring. A change restarts the nodes,
	// which empties them.
	// +optional
	// +mapType=atomic
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are the taints of cluster nodes that the memcached pods, and
	// those of discovery and monitoring, tolerate. A change restarts the nodes,
	// which empties them.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity steers which cluster nodes, and near which other pods, the
	// memcached pods run. A change restarts the nodes, which empties them.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the memcached pods over cluster nodes or
	// zones. They default to spreading over cluster nodes where possible. A change
	// restarts the nodes, which empties them.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName is the PriorityClass of the memcached pods, and of those of
	// discovery and monitoring. It defaults to the cluster's default. A change
	// restarts the nodes, which empties them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// imagePullSecrets name Secrets in the same namespace with which images are
	// pulled, also that of discovery and monitoring. A change restarts the nodes,
	// which empties them.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// serviceAccountName is the ServiceAccount of the memcached pods, in the same
	// namespace. It defaults to `default`. Its token is not mounted. A change
	// restarts the nodes, which empties them.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// Memcached is a cluster of memcached nodes. Each node is a cache of its own; clients spread their keys over them.
// ---
// The name is limited because the nodes' pods, their labels and the Services are named after it: a StatefulSet adds
// eleven characters in a label of at most 63.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=memcacheds,shortName=mc,categories=web-operators
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`,description="Nodes that are ready, of those wanted"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Summary of the conditions"
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.status.image`,description="Image that the nodes run"
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,description="Address for clients"
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.spec.workload`,description="Kind of object that runs the nodes",priority=1
// +kubebuilder:printcolumn:name="Memory",type=string,JSONPath=`.spec.memory`,description="Memory for items per node",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name must be at most 52 characters, because pods, labels and Services are named after it with a suffix: choose a shorter name"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must start with a letter and contain only lower case letters, digits and dashes (no dots), because a Service is named after it: choose another name"
type Memcached struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is the cache that is wanted. Every field has a default: an empty spec
	// is one node with 64Mi.
	// +optional
	// +kubebuilder:default={}
	Spec MemcachedSpec `json:"spec,omitzero"`

	// status is what the operator last saw. Only the operator writes it.
	// +optional
	Status MemcachedStatus `json:"status,omitzero"`
}

// MemcachedList is a list of Memcached.
//
// +kubebuilder:object:root=true
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []Memcached `json:"items"`
}
