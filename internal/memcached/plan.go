// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/companion/nodelist"
)

// plan is what has to be done. Its zero value leaves every child as it is.
type plan struct {
	finalizer     bool
	deployment    apply.Child[*appsv1ac.DeploymentApplyConfiguration]
	statefulSet   apply.Child[*appsv1ac.StatefulSetApplyConfiguration]
	service       apply.Child[*corev1ac.ServiceApplyConfiguration]
	budget        apply.Child[*policyv1ac.PodDisruptionBudgetApplyConfiguration]
	networkPolicy apply.Child[*networkingv1ac.NetworkPolicyApplyConfiguration]

	step  *step       // what to do about a running node
	flush *corev1.Pod // the node to empty

	nodeList           apply.Child[*corev1ac.ConfigMapApplyConfiguration]
	annotation         string // of the companions' pods; empty leaves it as it is
	discovery, metrics companionPlan
	serviceMonitor     apply.Child[*serviceMonitorIntent]
}

// companionPlan is what has to be done about a companion.
type companionPlan struct {
	deployment    apply.Child[*appsv1ac.DeploymentApplyConfiguration]
	service       apply.Child[*corev1ac.ServiceApplyConfiguration]
	budget        apply.Child[*policyv1ac.PodDisruptionBudgetApplyConfiguration]
	networkPolicy apply.Child[*networkingv1ac.NetworkPolicyApplyConfiguration]
}

// images are those that the operator was told, or that a resource's nodes run. The
// companion's is the operator's own, and the agent's, too.
type images struct {
	memcached, companion string
}

// decide plans the next step.
func decide(m *v1alpha1.Memcached, seen *observed, images images) plan {
	p := plan{finalizer: wantsFinalizer(m, seen)}
	if !m.DeletionTimestamp.IsZero() {
		// Nobody is to find the nodes any more; the garbage collector does the rest.
		if p.finalizer {
			p.service = apply.Remove[*corev1ac.ServiceApplyConfiguration]()
			p.discovery.service = apply.Optional[corev1ac.ServiceApplyConfiguration](nil, ours(m, seen.discovery.service))
		}
		return p
	}

	p.service = apply.Write(service(m))
	if ours(m, seen.service) && isHeadless(seen.service) != wantsHeadless(m) {
		// It cannot be changed. The new one comes when the old one is seen to be gone.
		p.service = apply.Remove[*corev1ac.ServiceApplyConfiguration]()
	}
	p.budget = apply.Optional(podDisruptionBudget(m), ours(m, seen.budget))
	p.networkPolicy = apply.Optional(networkPolicy(m, seen.operatorNamespace), ours(m, seen.networkPolicy))
	decideWorkload(m, seen, images, &p)
	decideCompanions(m, seen, images.companion, &p)
	p.flush, _ = nextFlush(m, seen)
	return p
}

// decideWorkload plans what runs the nodes.
func decideWorkload(m *v1alpha1.Memcached, seen *observed, defaults images, p *plan) {
	// The workload of the other kind keeps serving until the wanted one does.
	w := seen.workload(m)
	if m.Spec.Workload == v1alpha1.WorkloadStatefulSet && seen.statefulSet != nil {
		w.updated = seen.statefulSet.Status.UpdatedReplicas // what is still to be done to running nodes is no reason to wait
	}
	retire := w.rolledOut(wantedNodes(m, seen), false) && w.available == w.replicas
	images := images{memcached: imageOf(m, seen, defaults.memcached), companion: agentImageOf(m, seen, defaults.companion)}
	if m.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		p.statefulSet = apply.Write(statefulSet(m, images))
		p.step = nextStep(m, seen)
		p.deployment = apply.Optional[appsv1ac.DeploymentApplyConfiguration](nil, retire && ours(m, seen.deployment))
	} else {
		p.deployment = apply.Write(deployment(m, images))
		p.statefulSet = apply.Optional[appsv1ac.StatefulSetApplyConfiguration](nil, retire && ours(m, seen.statefulSet))
	}
}

// decideCompanions plans what tells about the nodes.
func decideCompanions(m *v1alpha1.Memcached, seen *observed, image string, p *plan) {
	var list nodelist.List
	if wantsNodeList(m) {
		list = nextList(lastList(m, seen), m, seen.nodes, wantedNodes(m, seen))
	}
	if list.Version > 0 {
		p.annotation = list.String()
	}
	p.nodeList = apply.Optional(nodeList(m, list), ours(m, seen.nodeList))
	p.discovery = decideCompanion(m, discoveryCompanion(m), &seen.discovery, image)
	p.metrics = decideCompanion(m, metricsCompanion(m), &seen.metrics, image)
	if seen.serviceMonitorsKnown {
		p.serviceMonitor = apply.Optional(serviceMonitor(m), ours(m, seen.serviceMonitor))
	}
}

func decideCompanion(m *v1alpha1.Memcached, c *companion, seen *companionChildren, image string) companionPlan {
	if c != nil && image == "" {
		return companionPlan{} // there is nothing to run; the status tells
	}
	return companionPlan{
		deployment:    apply.Optional(c.deployment(m, image), ours(m, seen.deployment)),
		service:       apply.Optional(c.service(m), ours(m, seen.service)),
		budget:        apply.Optional(c.budget(m), ours(m, seen.budget)),
		networkPolicy: apply.Optional(c.networkPolicy(m), ours(m, seen.networkPolicy)),
	}
}

// ours reports whether a child exists and is the resource's.
func ours[T any, L interface {
	*T
	metav1.Object
}](m *v1alpha1.Memcached, live L) bool {
	return live != nil && metav1.IsControlledBy(live, m)
}

// apply carries the plan out and updates what was seen. One child that fails does not
// keep the others from being written. The finalizer comes first: what is made without
// it would not be taken down in order. So does the list of nodes: clients should hear
// of nodes that go before these do.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.Memcached, seen *observed, p plan) error {
	if err := r.setFinalizer(ctx, m, p.finalizer); err != nil {
		return err
	}
	before := seen.workload(m)
	err := errors.Join(
		apply.CarryOut(ctx, r.writer, m, &seen.nodeList, p.nodeList),
		r.annotate(ctx, seen, p.annotation),
		r.updateAgents(ctx, seen),
		apply.CarryOut(ctx, r.writer, m, &seen.deployment, p.deployment),
		apply.CarryOut(ctx, r.writer, m, &seen.statefulSet, p.statefulSet),
		apply.CarryOut(ctx, r.writer, m, &seen.service, p.service),
		apply.CarryOut(ctx, r.writer, m, &seen.budget, p.budget),
		apply.CarryOut(ctx, r.writer, m, &seen.networkPolicy, p.networkPolicy),
		r.applyCompanion(ctx, m, &seen.discovery, p.discovery),
		r.applyCompanion(ctx, m, &seen.metrics, p.metrics),
		apply.CarryOut(ctx, r.writer, m, &seen.serviceMonitor, p.serviceMonitor),
	)
	seen.written = seen.workload(m).generation != before.generation
	return err
}

func (r *Reconciler) applyCompanion(ctx context.Context, m *v1alpha1.Memcached, seen *companionChildren, p companionPlan) error {
	return errors.Join(
		apply.CarryOut(ctx, r.writer, m, &seen.deployment, p.deployment),
		apply.CarryOut(ctx, r.writer, m, &seen.service, p.service),
		apply.CarryOut(ctx, r.writer, m, &seen.budget, p.budget),
		apply.CarryOut(ctx, r.writer, m, &seen.networkPolicy, p.networkPolicy),
	)
}

// annotate brings the list to the companions that run. The kubelet sees a change of
// their pods at once, and one of the ConfigMap that they mount when it looks again.
func (r *Reconciler) annotate(ctx context.Context, seen *observed, list string) error {
	var failed []error
	for i := range seen.companions {
		if list == "" {
			break
		}
		_, err := apply.Edit(ctx, r.writer, &seen.companions[i], func(pod *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, nodelist.Annotation, list)
		})
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}
