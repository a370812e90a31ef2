// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// workload is the Deployment or StatefulSet that runs the nodes, as far as the two
// are alike.
type workload struct {
	// generation is 0 for one that does not exist.
	generation int64
	// current means that its controller has seen its last change.
	current bool
	// replicas is how many pods it is to have; total, updated and available are how
	// many there are, how many of them are of its current template, and how many of
	// them have been ready long enough.
	replicas, total, updated, available int32
	// trouble is what its controller could not do.
	trouble *cause
}

// workload is what runs the nodes that the resource asks for.
func (seen *observed) workload(m *v1alpha1.Memcached) workload {
	if m.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		return statefulSetWorkload(seen.statefulSet, updatedNodes(m, seen))
	}
	return deploymentWorkload(seen.deployment)
}

func deploymentWorkload(d *appsv1.Deployment) workload {
	if d == nil {
		return workload{}
	}
	w := workload{
		generation: d.Generation,
		current:    d.Status.ObservedGeneration >= d.Generation,
		replicas:   ptr.Deref(d.Spec.Replicas, 1),
		total:      d.Status.Replicas,
		updated:    d.Status.UpdatedReplicas,
		available:  d.Status.AvailableReplicas,
	}
	for _, c := range d.Status.Conditions {
		if w.current && c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.trouble = &cause{c.Reason, c.Message}
			if apply.IsQuotaMessage(c.Message) {
				w.trouble.reason = apply.ReasonQuotaExceeded
			}
		}
	}
	return w
}

// A StatefulSet's status does not tell why a pod could not be made. Nor does it know
// which nodes are what the spec says: they are changed while they run.
func statefulSetWorkload(s *appsv1.StatefulSet, updated int32) workload {
	if s == nil {
		return workload{}
	}
	return workload{
		generation: s.Generation,
		current:    s.Status.ObservedGeneration >= s.Generation,
		replicas:   ptr.Deref(s.Spec.Replicas, 1),
		total:      s.Status.Replicas,
		updated:    updated,
		available:  s.Status.AvailableReplicas,
	}
}

// rolledOut reports whether its controller has made all pods of the current spec, and
// no other is left.
//
// The generation also grows with every annotation that somebody puts on a
// Deployment. So if the nodes were complete and nothing had to be written, what the
// controller has not looked at yet is none of our fields, and no reason to doubt.
func (w workload) rolledOut(wanted int32, trusted bool) bool {
	return w.generation > 0 && (w.current || trusted) && w.replicas == wanted && w.total == wanted && w.updated == wanted
}

// template is that of the workload which runs the nodes, or nil.
func (seen *observed) template(m *v1alpha1.Memcached) *corev1.PodTemplateSpec {
	switch {
	case m.Spec.Workload == v1alpha1.WorkloadStatefulSet && ours(m, seen.statefulSet):
		return &seen.statefulSet.Spec.Template
	case m.Spec.Workload != v1alpha1.WorkloadStatefulSet && ours(m, seen.deployment):
		return &seen.deployment.Spec.Template
	default:
		return nil
	}
}
