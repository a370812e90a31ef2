// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/conditions"
	"github.com/example/web-operators/internal/podstate"
)

// Reasons of the conditions, beside those of package apply and of the kubelet.
const (
	reasonAllNodesReady = "AllNodesReady"
	reasonScaledToZero  = "ScaledToZero"
	reasonNodesNotReady = "NodesNotReady"
	reasonCreating      = "Creating"
	reasonUpdating      = "Updating"
	reasonUnsupported   = "Unsupported"
)

// cause is why something is as it is: a reason for programs and a message for people.
type cause struct {
	reason, message string
}

// status tells what was seen, after the plan was carried out or failed.
func status(m *v1alpha1.Memcached, seen *observed, defaultImage string, failed error) v1alpha1.MemcachedStatus {
	s := *m.Status.DeepCopy()
	s.ObservedGeneration = m.Generation
	s.Nodes = nil
	s.ReadyNodes = 0
	for i := range seen.nodes {
		s.Nodes = append(s.Nodes, seen.nodes[i].Name)
		if podstate.Ready(&seen.nodes[i]) {
			s.ReadyNodes++
		}
	}
	s.Size = int32(len(s.Nodes))
	s.Selector = labels.SelectorFromSet(selectorLabels(m)).String()
	s.Ready = fmt.Sprintf("%d/%d", s.ReadyNodes, wantedNodes(m, seen))
	s.Image = imageOf(m, defaultImage)
	s.Endpoint, s.Endpoints = "", v1alpha1.MemcachedEndpoints{}
	if seen.service != nil && metav1.IsControlledBy(seen.service, m) {
		s.Endpoint = serviceAddress(m)
		s.Endpoints.Service = s.Endpoint
	}

	setConditions(m, seen, &s, failed)
	s.Phase = phase(m, &s)
	return s
}

// setConditions fills in the conditions; the rest of the status is there already.
func setConditions(m *v1alpha1.Memcached, seen *observed, s *v1alpha1.MemcachedStatus, failed error) {
	set := func(conditionType string, status bool, c cause) {
		conditions.Set(&s.Conditions, m.Generation, conditionType, status, c.reason, c.message)
	}
	wanted := wantedNodes(m, seen)
	ready := cause{reasonAllNodesReady, fmt.Sprintf("All %d nodes are ready", wanted)}
	if wanted == 0 {
		ready = cause{reasonScaledToZero, "The size is 0"}
	}
	notReady := cause{reasonNodesNotReady, fmt.Sprintf("%d of %d nodes are ready", s.ReadyNodes, wanted)}
	moving := cause{reasonUpdating, notReady.message}
	if !hasRun(m) {
		moving.reason = reasonCreating
	}

	stuck := stuckCause(m, failed)
	// Both views must agree: the caches of Deployments and pods are not of one moment.
	complete := stuck == nil && failed == nil && isServed(m, seen) &&
		rolledOut(m, seen, wanted) && seen.deployment.Status.AvailableReplicas == wanted &&
		s.Size == wanted && s.ReadyNodes == wanted
	lost := stuck == nil && !complete && wasComplete(m) && rolledOut(m, seen, wanted)

	switch {
	case stuck != nil:
		set(v1alpha1.ConditionAvailable, false, *stuck)
		set(v1alpha1.ConditionProgressing, false, *stuck)
	case complete:
		set(v1alpha1.ConditionAvailable, true, ready)
		set(v1alpha1.ConditionProgressing, false, ready)
	case lost:
		set(v1alpha1.ConditionAvailable, false, notReady)
		set(v1alpha1.ConditionProgressing, false, notReady)
	default:
		set(v1alpha1.ConditionAvailable, false, notReady)
		set(v1alpha1.ConditionProgressing, true, moving)
	}

	trouble := firstCause(stuck, unsupportedCause(m))
	if !complete {
		trouble = firstCause(trouble, deploymentTrouble(seen.deployment), nodeTrouble(seen.nodes))
	}
	switch {
	case trouble != nil:
		set(v1alpha1.ConditionDegraded, true, *trouble)
	case lost:
		set(v1alpha1.ConditionDegraded, true, notReady)
	default:
		set(v1alpha1.ConditionDegraded, false, cause{conditions.ReasonAsExpected, "Nothing keeps the nodes from the wanted state"})
	}
}

// stuckCause is why the children cannot be brought to the current spec at all.
func stuckCause(m *v1alpha1.Memcached, failed error) *cause {
	if blocked(m) {
		return unsupportedCause(m)
	}
	if failed == nil || apply.IsWaiting(failed) {
		return nil
	}
	return &cause{apply.Reason(failed), failed.Error()}
}

func unsupportedCause(m *v1alpha1.Memcached) *cause {
	if message := unsupportedMessage(m); message != "" {
		return &cause{reasonUnsupported, message}
	}
	return nil
}

// deploymentTrouble is what the Deployment's controller could not do.
func deploymentTrouble(d *appsv1.Deployment) *cause {
	if d == nil || d.Status.ObservedGeneration < d.Generation {
		return nil
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			if apply.IsQuotaMessage(c.Message) {
				return &cause{apply.ReasonQuotaExceeded, c.Message}
			}
			return &cause{c.Reason, c.Message}
		}
	}
	return nil
}

// nodeTrouble is the first thing that keeps a node from running.
func nodeTrouble(nodes []corev1.Pod) *cause {
	for i := range nodes {
		if reason, message := podstate.Trouble(&nodes[i]); reason != "" {
			return &cause{reason, message}
		}
	}
	return nil
}

// firstCause is the first that is not nil.
func firstCause(causes ...*cause) *cause {
	i := slices.IndexFunc(causes, func(c *cause) bool { return c != nil })
	if i < 0 {
		return nil
	}
	return causes[i]
}

// phase sums the conditions up.
func phase(m *v1alpha1.Memcached, s *v1alpha1.MemcachedStatus) v1alpha1.MemcachedPhase {
	switch {
	case !m.DeletionTimestamp.IsZero():
		return v1alpha1.PhaseTerminating
	case meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionDegraded):
		return v1alpha1.PhaseDegraded
	case meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionAvailable):
		return v1alpha1.PhaseRunning
	case s.ReadyNodes == 0 && !hasRun(m):
		return v1alpha1.PhasePending
	default:
		return v1alpha1.PhaseUpdating
	}
}

// hasRun reports whether all nodes have been ready, for this or an older spec. It is
// in the condition that was stored last; where that tells of an obstacle instead,
// nodes that were ready are the best sign of it.
func hasRun(m *v1alpha1.Memcached) bool {
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionProgressing)
	switch {
	case c == nil || c.Reason == reasonCreating:
		return false
	case c.Reason == reasonUpdating || isOutcome(c.Reason):
		return true
	default:
		return m.Status.ReadyNodes > 0
	}
}

// isOutcome is true of the reasons that end progress: the nodes have all been ready.
func isOutcome(reason string) bool {
	return reason == reasonAllNodesReady || reason == reasonScaledToZero || reason == reasonNodesNotReady
}

// wasComplete reports whether this generation of the spec has been reached before. A
// node that is not ready then is a loss, not a step on the way.
func wasComplete(m *v1alpha1.Memcached) bool {
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionProgressing)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == m.Generation && isOutcome(c.Reason)
}

// rolledOut reports whether the Deployment's controller has made all pods of the
// Deployment's current spec, and no other is left.
//
// The generation of a Deployment also grows with every annotation that somebody puts
// on it. So if the nodes were complete and nothing had to be written, what the
// controller has not looked at yet is none of our fields, and no reason to doubt.
func rolledOut(m *v1alpha1.Memcached, seen *observed, wanted int32) bool {
	d := seen.deployment
	return d != nil && (d.Status.ObservedGeneration >= d.Generation || wasComplete(m) && !seen.written) &&
		ptr.Deref(d.Spec.Replicas, 1) == wanted && d.Status.Replicas == wanted && d.Status.UpdatedReplicas == wanted
}

// isServed reports whether clients can find the nodes.
func isServed(m *v1alpha1.Memcached, seen *observed) bool {
	return seen.service != nil && seen.service.DeletionTimestamp.IsZero() && isHeadless(seen.service) == wantsHeadless(m)
}

// wantedNodes is the size; where that is left to others, it is what they have set.
func wantedNodes(m *v1alpha1.Memcached, seen *observed) int32 {
	if m.Spec.Size != nil {
		return *m.Spec.Size
	}
	if seen.deployment != nil {
		return ptr.Deref(seen.deployment.Spec.Replicas, 1)
	}
	return 1
}

// writeStatus stores the status if it has changed, and then tells what has. It is a
// patch without a precondition: nobody else writes the status, and a spec that has
// changed meanwhile is told by observedGeneration.
func (r *Reconciler) writeStatus(ctx context.Context, m *v1alpha1.Memcached, s v1alpha1.MemcachedStatus) error {
	if equality.Semantic.DeepEqual(m.Status, s) {
		return nil
	}
	before := m.DeepCopy()
	m.Status = s
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("writing the status: %w", err)
		}
		return nil
	}
	conditions.Record(r.recorder, m, v1alpha1.ConditionDegraded, before.Status.Conditions, s.Conditions)
	return nil
}
