// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/page"
)

const (
	pageContainer = "maintpage"
	contentVolume = "content"
	contentPath   = "/content"

	// appLeaveSeconds is how long a pod that is to go serves on, until every node's
	// rules have forgotten it. The kubelet sleeps by itself: there need be no shell in
	// the image.
	appLeaveSeconds = 5
	// pageLeaveSeconds is longer. While nothing else is ready Kubernetes sends traffic
	// to a page that is going; in this time another one starts in its place.
	pageLeaveSeconds = 15
	// lostSeconds is how long a page is left on a cluster node that does not answer.
	// Kubernetes would leave it there for five minutes.
	lostSeconds = 30

	nonRoot = 65532 // the user of the operator's image
)

func podName(m *v1alpha1.MaintPage) string { return m.Name + "-maintpage-pod" }

// pod serves the maintenance page. A pod cannot be changed: one that was made from
// another template is replaced, see page.go.
func pod(m *v1alpha1.MaintPage, image string, ports []pagePort, contentHash string) *corev1ac.PodApplyConfiguration {
	spec := pagePodSpec(m, image, ports)
	intent := corev1ac.Pod(podName(m), m.Namespace).
		WithLabels(childLabels(m, pageSide)).
		WithAnnotations(map[string]string{annotationTemplate: templateHash(spec)}).
		WithSpec(spec)
	if builtIn(m) {
		intent.WithAnnotations(map[string]string{annotationContent: contentHash})
	}
	return intent
}

// templateHash tells templates apart.
func templateHash(spec *corev1ac.PodSpecApplyConfiguration) string {
	encoded, _ := json.Marshal(spec) // made of nothing but strings and numbers
	hash := fnv.New64a()
	_, _ = hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 36)
}

// pagePodSpec is that of every pod of the page.
func pagePodSpec(m *v1alpha1.MaintPage, image string, ports []pagePort) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(pageLeaveSeconds+15).
		WithTolerations(leaveLostNode(corev1.TaintNodeNotReady), leaveLostNode(corev1.TaintNodeUnreachable))
	if usersImage := m.Spec.MaintPageConfig.MaintPageImage; usersImage != "" {
		return spec.
			WithSecurityContext(corev1ac.PodSecurityContext().
				WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
			WithContainers(webContainer(pageContainer, usersImage, ports, pageLeaveSeconds))
	}
	return spec.
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(nonRoot).
			WithRunAsGroup(nonRoot).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
			// An application may listen on port 80, and so has the page to.
			WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))).
		WithVolumes(corev1ac.Volume().WithName(contentVolume).
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(pageName(m)).WithOptional(true).WithDefaultMode(0o444))).
		WithContainers(builtInContainer(image, ports))
}

func leaveLostNode(taint string) *corev1ac.TolerationApplyConfiguration {
	return corev1ac.Toleration().
		WithKey(taint).
		WithOperator(corev1.TolerationOpExists).
		WithEffect(corev1.TaintEffectNoExecute).
		WithTolerationSeconds(lostSeconds)
}

// webContainer runs an image of the user's. It is ready when it listens on the port
// that the Service sends traffic to: traffic is never switched to one that does not.
func webContainer(name, image string, ports []pagePort, leaveSeconds int64) *corev1ac.ContainerApplyConfiguration {
	return withPorts(corev1ac.Container().WithName(name).WithImage(image), ports).
		WithReadinessProbe(corev1ac.Probe().
			WithTCPSocket(corev1ac.TCPSocketAction().WithPort(intstr.FromInt32(ports[0].number))).
			WithPeriodSeconds(2)).
		WithLifecycle(leaveSlowly(leaveSeconds))
}

// builtInContainer runs the page of package page.
func builtInContainer(image string, ports []pagePort) *corev1ac.ContainerApplyConfiguration {
	listen := make([]string, 0, len(ports))
	for _, p := range ports {
		if number := strconv.Itoa(int(p.number)); !slices.Contains(listen, number) {
			listen = append(listen, number)
		}
	}
	health := healthPort(ports)
	get := func(path string) *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(path).WithPort(intstr.FromInt32(health)))
	}
	return withPorts(corev1ac.Container().WithName(pageContainer).WithImage(image), ports).
		WithCommand("/maintenance-page").
		WithArgs(
			"--content="+contentPath,
			"--listen="+strings.Join(listen, ","),
			fmt.Sprintf("--health=%d", health),
		).
		WithReadinessProbe(get(page.ReadyzPath).WithPeriodSeconds(2)).
		WithLivenessProbe(get(page.HealthzPath).WithPeriodSeconds(10)).
		WithLifecycle(leaveSlowly(pageLeaveSeconds)).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(contentVolume).WithMountPath(contentPath).WithReadOnly(true)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")})).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
}

func withPorts(container *corev1ac.ContainerApplyConfiguration, ports []pagePort) *corev1ac.ContainerApplyConfiguration {
	for _, p := range ports {
		declared := corev1ac.ContainerPort().WithContainerPort(p.number).WithProtocol(corev1.ProtocolTCP)
		if p.name != "" {
			declared.WithName(p.name)
		}
		container.WithPorts(declared)
	}
	return container
}

func leaveSlowly(seconds int64) *corev1ac.LifecycleApplyConfiguration {
	return corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
		WithSleep(corev1ac.SleepAction().WithSeconds(seconds)))
}

// healthPort is one that visitors cannot reach.
func healthPort(ports []pagePort) int32 {
	health := int32(8081)
	for slices.ContainsFunc(ports, func(p pagePort) bool { return p.number == health }) {
		health++
	}
	return health
}
