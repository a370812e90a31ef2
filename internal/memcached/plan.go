// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// plan is what has to be done. Its zero value leaves every child as it is.
type plan struct {
	finalizer     bool
	deployment    child[*appsv1ac.DeploymentApplyConfiguration]
	statefulSet   child[*appsv1ac.StatefulSetApplyConfiguration]
	service       child[*corev1ac.ServiceApplyConfiguration]
	budget        child[*policyv1ac.PodDisruptionBudgetApplyConfiguration]
	networkPolicy child[*networkingv1ac.NetworkPolicyApplyConfiguration]
}

// child is what has to be done about one child.
type child[I any] struct {
	action action
	intent I // what to write
}

type action int

const (
	leave action = iota
	write
	remove
)

// decide plans the next step. It does nothing for a resource that asks for nodes of a
// kind that this version cannot run: other nodes than asked for may be worse than none.
func decide(m *v1alpha1.Memcached, seen *observed, defaultImage string) plan {
	p := plan{finalizer: wantsFinalizer(m, seen)}
	switch {
	case !m.DeletionTimestamp.IsZero():
		// Nobody is to find the nodes any more; the garbage collector does the rest.
		if p.finalizer {
			p.service.action = remove
		}
		return p
	case notYet.Block(&m.Spec):
		p.finalizer = ours(m, seen.service) // what an earlier spec has made
		return p
	}

	p.service = child[*corev1ac.ServiceApplyConfiguration]{write, service(m)}
	if ours(m, seen.service) && isHeadless(seen.service) != wantsHeadless(m) {
		// It cannot be changed. The new one comes when the old one is seen to be gone.
		p.service.action = remove
	}
	p.budget = optional(podDisruptionBudget(m), ours(m, seen.budget))
	p.networkPolicy = optional(networkPolicy(m), ours(m, seen.networkPolicy))

	// The workload of the other kind keeps serving until the wanted one does.
	retire := leave
	if w := seen.workload(m); w.rolledOut(wantedNodes(m, seen), false) && w.available == w.replicas {
		retire = remove
	}
	image := imageOf(m, defaultImage)
	if m.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		p.statefulSet = child[*appsv1ac.StatefulSetApplyConfiguration]{write, statefulSet(m, image)}
		if ours(m, seen.deployment) {
			p.deployment.action = retire
		}
	} else {
		p.deployment = child[*appsv1ac.DeploymentApplyConfiguration]{write, deployment(m, image)}
		if ours(m, seen.statefulSet) {
			p.statefulSet.action = retire
		}
	}
	return p
}

// optional writes a child that the spec asks for, and removes one that it does not.
func optional[T any](intent *T, exists bool) child[*T] {
	switch {
	case intent != nil:
		return child[*T]{write, intent}
	case exists:
		return child[*T]{action: remove}
	default:
		return child[*T]{}
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
// it would not be taken down in order.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.Memcached, seen *observed, p plan) error {
	if err := r.setFinalizer(ctx, m, p.finalizer); err != nil {
		return err
	}
	before := seen.workload(m)
	err := errors.Join(
		carryOut(ctx, r.writer, m, &seen.deployment, p.deployment),
		carryOut(ctx, r.writer, m, &seen.statefulSet, p.statefulSet),
		carryOut(ctx, r.writer, m, &seen.service, p.service),
		carryOut(ctx, r.writer, m, &seen.budget, p.budget),
		carryOut(ctx, r.writer, m, &seen.networkPolicy, p.networkPolicy),
	)
	seen.written = seen.workload(m).generation != before.generation
	return err
}

func carryOut[T any, L apply.Live[T], I apply.Intent[I]](ctx context.Context, w *apply.Writer, m *v1alpha1.Memcached, live *L, c child[I]) error {
	switch c.action {
	case write:
		var err error
		*live, err = apply.Apply(ctx, w, m, *live, c.intent)
		return err
	case remove:
		return apply.Delete(ctx, w, m, *live)
	default:
		return nil
	}
}
