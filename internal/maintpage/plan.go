// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"errors"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/podstate"
)

// plan is what has to be written. Nil leaves a child as it is.
type plan struct {
	deployment *appsv1ac.DeploymentApplyConfiguration
	service    *corev1ac.ServiceApplyConfiguration
	pod        *corev1ac.PodApplyConfiguration
	deletePod  bool
}

// decide plans the next step. It does nothing for a resource that is being deleted,
// whose children the garbage collector removes, nor for one that asks for something
// that this version must not do otherwise.
func decide(m *v1alpha1.MaintPage, seen *observed) plan {
	if !m.DeletionTimestamp.IsZero() || notYet.Block(&m.Spec) {
		return plan{}
	}
	p := plan{
		deployment: deployment(m),
		service:    service(m, nextSide(m, seen)),
		// A pod that has ended does not start again, and its name has to be free for the next.
		deletePod: seen.pod != nil && podstate.Ended(seen.pod),
	}
	if m.Spec.MaintPageConfig.MaintPageImage != "" {
		p.pod = pod(m)
	}
	return p
}

// apply carries the plan out and updates what was seen. One child that fails does not
// keep the others from being written.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.MaintPage, seen *observed, p plan) error {
	var podErr, deploymentErr, serviceErr error
	switch {
	case p.deletePod:
		podErr = apply.Delete(ctx, r.writer, m, seen.pod)
	case p.pod != nil:
		seen.pod, podErr = apply.Apply(ctx, r.writer, m, seen.pod, p.pod)
	}
	if p.deployment != nil {
		seen.deployment, deploymentErr = apply.Apply(ctx, r.writer, m, seen.deployment, p.deployment)
	}
	if p.service != nil {
		seen.service, serviceErr = apply.Apply(ctx, r.writer, m, seen.service, p.service)
	}
	return errors.Join(podErr, deploymentErr, serviceErr)
}
