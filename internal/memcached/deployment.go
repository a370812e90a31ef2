// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

const (
	containerName = "memcached"
	portName      = "memcached"

	// unlistSeconds is how long a node serves on after it has left the Service, for
	// requests on their way and clients that have just looked it up.
	unlistSeconds = 5

	// defaultSlabChunk is memcached's own slab_chunk_max.
	defaultSlabChunk = 512 * kibibyte

	// memcachedUser is the user and group of the official image and of Debian's package.
	memcachedUser = 11211
)

// imageOf is the image that the nodes of a resource run. Where the resource names none
// it is the operator's, and stays the one that they were started with: another default
// is no reason to restart them, and waits until they are restarted for another one. It
// is the status that remembers it, which nobody else writes; the template may have been
// edited by hand. Only while a change of the spec is being carried out it is the
// template, where that change is already.
func imageOf(m *v1alpha1.Memcached, seen *observed, defaultImage string) string {
	template := seen.template(m)
	switch {
	case m.Spec.Image != "":
		return m.Spec.Image
	case template == nil:
		return defaultImage
	case m.Status.ObservedGeneration == m.Generation && m.Status.Image != "":
		return m.Status.Image
	case template.Annotations[annotationSettings] == encodeSettings(m):
		for i := range template.Spec.Containers {
			if c := &template.Spec.Containers[i]; c.Name == containerName && c.Image != "" {
				return c.Image
			}
		}
	}
	return defaultImage
}

// deployment runs the nodes.
func deployment(m *v1alpha1.Memcached, images images) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))).
		// One node at a time, and the new one first: each replaced node is a cold cache.
		WithStrategy(appsv1ac.DeploymentStrategy().
			WithType(appsv1.RollingUpdateDeploymentStrategyType).
			WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
				WithMaxSurge(intstr.FromInt32(1)).
				WithMaxUnavailable(intstr.FromInt32(0)))).
		WithTemplate(podTemplate(m, images))
	if m.Spec.MinReadySeconds > 0 {
		spec.WithMinReadySeconds(m.Spec.MinReadySeconds)
	}
	// Without a size the field is not ours, and whatever is there stays.
	spec.Replicas = m.Spec.Size
	return appsv1ac.Deployment(m.Name, m.Namespace).
		WithLabels(childLabels(m)).
		WithSpec(spec)
}

func podTemplate(m *v1alpha1.Memcached, images images) *corev1ac.PodTemplateSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithContainers(container(m, images.memcached)).
		WithAutomountServiceAccountToken(false).
		// Links would put the address of every Service of the namespace in the environment.
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(unlistSeconds + 5).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(memcachedUser).
			WithRunAsGroup(memcachedUser).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)))
	addAgent(pod, m, images.companion)
	schedule(pod, m)

	return corev1ac.PodTemplateSpec().
		WithLabels(podLabels(m)).
		WithAnnotations(m.Spec.PodMetadata.Annotations).
		WithAnnotations(nodeAnnotations(m, pod)).
		WithAnnotations(agentAnnotations(m, images.companion)).
		WithSpec(pod)
}

// schedule passes on where and as whom the user wants the pods to run.
func schedule(pod *corev1ac.PodSpecApplyConfiguration, m *v1alpha1.Memcached) {
	spec := &m.Spec
	place(pod, spec)
	if spec.Affinity != nil {
		pod.WithAffinity(as[corev1ac.AffinityApplyConfiguration](spec.Affinity))
	}
	for i := range spec.TopologySpreadConstraints {
		pod.WithTopologySpreadConstraints(as[corev1ac.TopologySpreadConstraintApplyConfiguration](&spec.TopologySpreadConstraints[i]))
	}
	if len(spec.TopologySpreadConstraints) == 0 {
		pod.WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(corev1.LabelHostname).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))))
	}
	if spec.ServiceAccountName != "" {
		pod.WithServiceAccountName(spec.ServiceAccountName)
	}
}

// place is the part of it that holds for every pod of the resource.
func place(pod *corev1ac.PodSpecApplyConfiguration, spec *v1alpha1.MemcachedSpec) {
	if len(spec.NodeSelector) > 0 {
		pod.WithNodeSelector(spec.NodeSelector)
	}
	for i := range spec.Tolerations {
		pod.WithTolerations(as[corev1ac.TolerationApplyConfiguration](&spec.Tolerations[i]))
	}
	if spec.PriorityClassName != "" {
		pod.WithPriorityClassName(spec.PriorityClassName)
	}
	for _, secret := range spec.ImagePullSecrets {
		pod.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
}

func container(m *v1alpha1.Memcached, image string) *corev1ac.ContainerApplyConfiguration {
	// A connection is all that a probe needs, and it takes no shell in the image.
	connect := func() *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromString(portName)))
	}
	resources := resourcesOf(m)
	return corev1ac.Container().
		WithName(containerName).
		WithImage(image).
		WithCommand("memcached").
		WithArgs(args(m)...).
		WithEnv(corev1ac.EnvVar().WithName(memoryVariable).WithValueFrom(corev1ac.EnvVarSource().
			WithFieldRef(corev1ac.ObjectFieldSelector().
				WithAPIVersion("v1"). // a default, inside of a struct that is compared as a whole
				WithFieldPath(fmt.Sprintf("metadata.annotations['%s']", annotationMemory))))).
		WithPorts(corev1ac.ContainerPort().WithName(portName).WithContainerPort(m.Spec.ContainerPort)).
		WithResources(corev1ac.ResourceRequirements().WithRequests(resources.Requests).WithLimits(resources.Limits)).
		WithReadinessProbe(connect().WithPeriodSeconds(5)).
		WithLivenessProbe(connect().WithPeriodSeconds(10).WithInitialDelaySeconds(10)).
		// A node that is to go serves on until clients have seen it leave the Service.
		// The kubelet sleeps by itself: there need be no shell in the image.
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithSleep(corev1ac.SleepAction().WithSeconds(unlistSeconds)))).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
}

// args are memcached's. Long options with = are the only form that no release reads
// in another way.
func args(m *v1alpha1.Memcached) []string {
	all := []string{
		fmt.Sprintf("--port=%d", m.Spec.ContainerPort),
		fmt.Sprintf("--memory-limit=$(%s)", memoryVariable),
		fmt.Sprintf("--conn-limit=%d", m.Spec.MaxConnections),
		fmt.Sprintf("--threads=%d", m.Spec.Threads),
		fmt.Sprintf("--max-item-size=%d", m.Spec.MaxItemSize.Value()),
	}
	if size := m.Spec.MaxItemSize.Value(); size < defaultSlabChunk {
		// memcached refuses items smaller than the chunks it makes large ones of.
		all = append(all, fmt.Sprintf("--extended=slab_chunk_max=%d", size))
	}
	all = append(all, accessArgs(m)...)
	return append(all, m.Spec.ExtraArgs...)
}

// as turns a part of an API type into the same part of an apply-configuration. Both
// have the same JSON form, so it cannot fail.
func as[A any](value any) *A {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(value)
	utilruntime.Must(err)
	configuration := new(A)
	utilruntime.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(fields, configuration))
	return configuration
}
