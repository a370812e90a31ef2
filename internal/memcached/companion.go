// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/companion/nodelist"
)

const (
	companionContainer = "companion"
	nodesVolume        = "nodes"
	nodesDirectory     = "/nodes"

	// What a companion takes when it has little to do, which is 7 MiB.
	companionMemory = "16Mi"
	companionCPU    = "5m"

	// discoveryMemory is for a thousand clients.
	discoveryMemory = "64Mi"
	// metricsMemory is for a hundred nodes, each with items in all slab classes: a
	// scrape takes 1.7 MiB for one. Few nodes have items in half of the classes.
	metricsMemory = "256Mi"
)

// companion is a program beside the nodes that tells about them. It has a Deployment
// and a Service of its own, and holds nothing, so it may be replaced at any time.
type companion struct {
	component string
	replicas  int32
	memory    string // at most
	ports     []companionPort
	// from are those that may connect, if not everyone may; to are those that the
	// companion connects to, if it does.
	from, to []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
}

// companionPort is one that the program listens on. The Service may have another.
type companionPort struct {
	name, flag      string
	container, port int32
}

// discoveryCompanion answers clients that ask for the list of nodes. It is nil where the user
// asks for none.
func discoveryCompanion(m *v1alpha1.Memcached) *companion {
	d := m.Spec.Discovery
	if d == nil {
		return nil
	}
	return &companion{
		component: componentDiscovery,
		replicas:  d.Replicas,
		memory:    discoveryMemory,
		ports: []companionPort{
			{name: "discovery", flag: "discovery", container: 11211, port: d.Port},
			{name: "http", flag: "http", container: 8080, port: d.HTTPPort},
		},
		from: clients(m),
	}
}

// metricsCompanion asks the nodes for their statistics when Prometheus asks it. One pod does:
// two would be two targets with the same series.
func metricsCompanion(m *v1alpha1.Memcached) *companion {
	if m.Spec.Monitoring == nil {
		return nil
	}
	return &companion{
		component: componentMetrics,
		replicas:  1,
		memory:    metricsMemory,
		ports:     []companionPort{{name: metricsPort, flag: "metrics", container: 9150, port: m.Spec.Monitoring.Port}},
		// Where Prometheus is, nobody knows; what it reads here is no secret.
		from: nil,
		to: []*networkingv1ac.NetworkPolicyPeerApplyConfiguration{
			networkingv1ac.NetworkPolicyPeer().WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(selectorLabels(m))),
		},
	}
}

func companionName(m *v1alpha1.Memcached, component string) string { return m.Name + "-" + component }

// companionHost is how every pod of the cluster can resolve the companion's Service.
func companionHost(m *v1alpha1.Memcached, component string) string {
	return fmt.Sprintf("%s.%s.svc", companionName(m, component), m.Namespace)
}

// deployment runs the companion.
func (c *companion) deployment(m *v1alpha1.Memcached, image string) *appsv1ac.DeploymentApplyConfiguration {
	if c == nil {
		return nil
	}
	return appsv1ac.Deployment(companionName(m, c.component), m.Namespace).
		WithLabels(companionLabels(m, c.component)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(c.replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(companionSelector(m, c.component))).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxSurge(intstr.FromInt32(1)).
					WithMaxUnavailable(intstr.FromInt32(0)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(companionLabels(m, c.component)).
				WithSpec(c.pod(m, image))))
}

func (c *companion) pod(m *v1alpha1.Memcached, image string) *corev1ac.PodSpecApplyConfiguration {
	pod := corev1ac.PodSpec().
		WithContainers(c.container(image)).
		WithVolumes(nodesProjection(m)).
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(unlistSeconds + 5).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithTopologySpreadConstraints(corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(corev1.LabelHostname).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(companionSelector(m, c.component))))
	// Where the nodes may run, the companion may. What keeps the nodes apart is theirs.
	place(pod, &m.Spec)
	if len(c.to) > 0 {
		mountSecrets(pod, &pod.Containers[0], m)
	}
	return pod
}

func (c *companion) container(image string) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().
		WithName(companionContainer).
		WithImage(image).
		WithCommand("/memcached-companion").
		WithArgs("--nodes=" + nodesDirectory).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(nodesVolume).WithMountPath(nodesDirectory).WithReadOnly(true)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(companionCPU), corev1.ResourceMemory: resource.MustParse(companionMemory),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(c.memory)})).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().
			WithSleep(corev1ac.SleepAction().WithSeconds(unlistSeconds)))).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithReadOnlyRootFilesystem(true).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")))
	for _, port := range c.ports {
		container.WithArgs(fmt.Sprintf("--%s=:%d", port.flag, port.container)).
			WithPorts(corev1ac.ContainerPort().WithName(port.name).WithContainerPort(port.container))
	}
	// The last port speaks HTTP, and tells of the whole program's health.
	health := func(path string) *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
			WithPath(path).WithPort(intstr.FromString(c.ports[len(c.ports)-1].name)))
	}
	return container.
		WithReadinessProbe(health("/readyz").WithPeriodSeconds(2)).
		WithLivenessProbe(health("/healthz").WithPeriodSeconds(10).WithInitialDelaySeconds(10))
}

// nodesProjection brings the list into the pod twice. The kubelet reads the ConfigMap
// when it likes, up to a minute and a half after a change; the pod's annotations it
// reads as soon as they change. The program takes the newer one. A pod that starts
// while the operator is away has the ConfigMap only.
func nodesProjection(m *v1alpha1.Memcached) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(nodesVolume).WithProjected(corev1ac.ProjectedVolumeSource().WithSources(
		corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
			WithName(nodeListName(m)).
			WithItems(corev1ac.KeyToPath().WithKey(nodelist.File).WithPath(nodelist.File)).
			// Without it the pod would not start before the nodes, and be tried again at
			// ever longer intervals.
			WithOptional(true)),
		corev1ac.VolumeProjection().WithDownwardAPI(corev1ac.DownwardAPIProjection().
			WithItems(corev1ac.DownwardAPIVolumeFile().
				WithPath(nodelist.AnnotationFile).
				WithFieldRef(corev1ac.ObjectFieldSelector().
					// A default inside of a struct that is owned as a whole.
					WithAPIVersion("v1").
					WithFieldPath(fmt.Sprintf("metadata.annotations['%s']", nodelist.Annotation)))))))
}

// service leads to the companion; any of its pods will do.
func (c *companion) service(m *v1alpha1.Memcached) *corev1ac.ServiceApplyConfiguration {
	if c == nil {
		return nil
	}
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(companionSelector(m, c.component))
	for _, port := range c.ports {
		spec.WithPorts(corev1ac.ServicePort().
			WithName(port.name).WithPort(port.port).WithTargetPort(intstr.FromString(port.name)))
	}
	return corev1ac.Service(companionName(m, c.component), m.Namespace).
		WithLabels(companionLabels(m, c.component)).
		WithSpec(spec)
}

// budget keeps a drain from taking all pods at a time. One pod alone has none: it could
// never be moved.
func (c *companion) budget(m *v1alpha1.Memcached) *policyv1ac.PodDisruptionBudgetApplyConfiguration {
	if c == nil || c.replicas < 2 {
		return nil
	}
	return policyv1ac.PodDisruptionBudget(companionName(m, c.component), m.Namespace).
		WithLabels(companionLabels(m, c.component)).
		WithSpec(policyv1ac.PodDisruptionBudgetSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(companionSelector(m, c.component))).
			WithMaxUnavailable(intstr.FromInt32(1)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}

// networkPolicy lets the companion talk to those only that it has to. It is nil where
// the user asks for none.
func (c *companion) networkPolicy(m *v1alpha1.Memcached) *networkingv1ac.NetworkPolicyApplyConfiguration {
	if c == nil || m.Spec.NetworkPolicy == nil {
		return nil
	}
	ingress := networkingv1ac.NetworkPolicyIngressRule().WithFrom(c.from...)
	for _, port := range c.ports {
		ingress.WithPorts(networkingv1ac.NetworkPolicyPort().
			WithProtocol(corev1.ProtocolTCP).WithPort(intstr.FromInt32(port.container)))
	}
	spec := networkingv1ac.NetworkPolicySpec().
		WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(companionSelector(m, c.component))).
		WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress).
		WithIngress(ingress)
	if len(c.to) > 0 { // a rule without anybody would be everybody
		spec.WithEgress(networkingv1ac.NetworkPolicyEgressRule().WithTo(c.to...))
	}
	return networkingv1ac.NetworkPolicy(companionName(m, c.component), m.Namespace).
		WithLabels(companionLabels(m, c.component)).
		WithSpec(spec)
}
