// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/agent"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/podstate"
)

// annotationAgent of a pod is the image of its agent.
const annotationAgent = "cache.example.com/agent"

const (
	// agentContainer brings certificates and passwords to memcached. It is in pods of
	// resources with tls or auth only.
	agentContainer = "agent"
	// agentDirectory is where memcached finds them, in memory.
	agentVolume    = "agent"
	agentDirectory = "/agent"
	// The Secrets, as the agent and the metrics companion see them.
	tlsVolume     = "tls"
	tlsDirectory  = "/secrets/tls"
	authVolume    = "auth"
	authDirectory = "/secrets/auth"

	agentPort        = 11210
	agentCPU         = "5m"
	agentMemory      = "16Mi"
	agentMemoryLimit = "32Mi"
	// agentVolumeSize is for two versions of a certificate; a Secret has at most 1Mi.
	agentVolumeSize = "4Mi"

	// agentStartSeconds is how long the agent may wait for a Secret that it can use. It
	// looks every second by itself; if the kubelet restarted it, that would be at ever
	// longer intervals.
	agentStartSeconds = 24 * 60 * 60

	// secretMode is for the group, which is that of memcached.
	secretMode = 0o440
)

func wantsAgent(m *v1alpha1.Memcached) bool { return m.Spec.TLS != nil || m.Spec.Auth != nil }

func wantsClientCertificates(m *v1alpha1.Memcached) bool {
	return m.Spec.TLS != nil && m.Spec.TLS.ClientAuth == v1alpha1.ClientAuthRequire
}

// accessArgs make memcached encrypt and ask for passwords. With TLS there is no other
// listener, so nobody can pass it by.
func accessArgs(m *v1alpha1.Memcached) []string {
	var all []string
	if m.Spec.TLS != nil {
		in := func(key string) string { return path.Join(agentDirectory, agent.TLSDirectory, key) }
		options := fmt.Sprintf("--extended=ssl_chain_cert=%s,ssl_key=%s", in(credentials.CertificateKey), in(credentials.PrivateKeyKey))
		if wantsClientCertificates(m) {
			// The authority alone would only be asked for: 2 is what refuses.
			options += fmt.Sprintf(",ssl_ca_cert=%s,ssl_verify_mode=2", in(credentials.AuthorityKey))
		}
		all = append(all, "--enable-ssl", options)
	}
	if m.Spec.Auth != nil {
		all = append(all, "--auth-file="+path.Join(agentDirectory, agent.UsersFile))
	}
	return all
}

// addAgent puts the agent into a node's pod, if it needs one. It starts before memcached.
func addAgent(pod *corev1ac.PodSpecApplyConfiguration, m *v1alpha1.Memcached, image string) {
	if !wantsAgent(m) {
		return
	}
	status := int32(agentPort)
	if m.Spec.ContainerPort == agentPort {
		status--
	}
	// Only the pod itself reaches it, so the kubelet has to ask from inside.
	address := fmt.Sprintf("127.0.0.1:%d", status)
	const program = "/memcached-agent"
	container := corev1ac.Container().
		WithName(agentContainer).
		WithImage(image).
		WithRestartPolicy(corev1.ContainerRestartPolicyAlways).
		WithCommand(program).
		WithArgs(fmt.Sprintf("--memcached=127.0.0.1:%d", m.Spec.ContainerPort), "--status="+address, "--directory="+agentDirectory).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(agentVolume).WithMountPath(agentDirectory)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(agentCPU), corev1.ResourceMemory: resource.MustParse(agentMemory),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(agentMemoryLimit)})).
		WithStartupProbe(corev1ac.Probe().
			WithExec(corev1ac.ExecAction().WithCommand(program, "--check", "--status="+address)).
			WithPeriodSeconds(1).
			WithTimeoutSeconds(5).
			WithFailureThreshold(agentStartSeconds)).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	if wantsClientCertificates(m) {
		container.WithArgs("--mutual")
	}
	mountSecrets(pod, container, m)
	pod.WithInitContainers(container).
		WithVolumes(corev1ac.Volume().WithName(agentVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithMedium(corev1.StorageMediumMemory).
			WithSizeLimit(resource.MustParse(agentVolumeSize))))
	pod.Containers[0].WithVolumeMounts(corev1ac.VolumeMount().
		WithName(agentVolume).WithMountPath(agentDirectory).WithReadOnly(true))
	if m.Spec.Auth != nil {
		// memcached reads its users again at a signal only.
		pod.WithShareProcessNamespace(true)
	}
}

// mountSecrets gives a container of a pod the Secrets of the resource, and tells it by
// flags where they are.
func mountSecrets(pod *corev1ac.PodSpecApplyConfiguration, container *corev1ac.ContainerApplyConfiguration, m *v1alpha1.Memcached) {
	mount := func(volume, directory, secret, flag string, keys ...string) {
		source := corev1ac.SecretVolumeSource().
			WithSecretName(secret).
			WithDefaultMode(secretMode).
			// No Secret has all of the keys.
			WithOptional(true)
		for _, key := range keys {
			source.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
		}
		pod.WithVolumes(corev1ac.Volume().WithName(volume).WithSecret(source))
		pod.SecurityContext.WithFSGroup(memcachedUser)
		container.WithArgs(flag + directory).
			WithVolumeMounts(corev1ac.VolumeMount().WithName(volume).WithMountPath(directory).WithReadOnly(true))
	}
	if m.Spec.TLS != nil {
		mount(tlsVolume, tlsDirectory, m.Spec.TLS.SecretName, "--tls-dir=", credentials.TLSKeys...)
	}
	if m.Spec.Auth != nil {
		mount(authVolume, authDirectory, m.Spec.Auth.SecretName, "--auth-dir=", credentials.UsersKeys...)
	}
}

// agentImageOf is the agent's image in the pod template. It stays the one that the
// nodes were started with: a new operator is no reason to restart them.
func agentImageOf(m *v1alpha1.Memcached, seen *observed, image string) string {
	template := seen.template(m)
	if template == nil || template.Annotations[annotationSettings] != encodeSettings(m) {
		return image
	}
	return cmp.Or(template.Annotations[annotationAgent], image)
}

// agentAnnotations tell which image the agent was given, so that one that somebody has
// changed by hand is put back.
func agentAnnotations(m *v1alpha1.Memcached, image string) map[string]string {
	if !wantsAgent(m) {
		return nil
	}
	return map[string]string{annotationAgent: image}
}

func agentIn(pod *corev1.PodSpec) *corev1.Container {
	for i := range pod.InitContainers {
		if c := &pod.InitContainers[i]; c.Name == agentContainer {
			return c
		}
	}
	return nil
}

// updateAgents gives pods that are starting the current agent, whose image their
// template may not have; an older one may be gone from its registry. In pods that are
// ready it stays: while an agent is replaced its pod is not.
func (r *Reconciler) updateAgents(ctx context.Context, seen *observed) error {
	var failed []error
	for i := range seen.nodes {
		pod := &seen.nodes[i]
		if r.images.companion == "" || podstate.Ready(pod) || agentIn(&pod.Spec) == nil {
			continue
		}
		_, err := apply.Edit(ctx, r.writer, pod, func(pod *corev1.Pod) { agentIn(&pod.Spec).Image = r.images.companion })
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
