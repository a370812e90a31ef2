// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	reasonDeleting      = "Deleting"
	reasonNodeSilent    = "NodeNotAnswering"
	reasonInfeasible    = "ResizeInfeasible"

	reasonSecretMissing    = "SecretMissing"
	reasonSecretInvalid    = "SecretInvalid"
	reasonSecretUnreadable = "SecretUnreadable"

	reasonDiscoveryNotReady     = "DiscoveryNotReady"
	reasonNoCompanionImage      = "NoCompanionImage"
	reasonServiceMonitorUnknown = "ServiceMonitorUnknown"
)

// cause is why something is as it is: a reason for programs and a message for people.
type cause struct {
	reason, message string
}

// status tells what was seen, after the plan was carried out or failed.
func status(m *v1alpha1.Memcached, seen *observed, images images, failed error) v1alpha1.MemcachedStatus {
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
	s.Image = imageOf(m, seen, images.memcached)
	s.Endpoints = endpoints(m, seen)
	s.Endpoint = cmp.Or(s.Endpoints.Discovery, s.Endpoints.Service)
	s.Restart = restartStatus(m, seen)
	s.Flush = flushStatus(m, seen)
	setConditions(m, seen, images, &s, failed)
	s.Phase = phase(m, &s)
	return s
}

// endpoints are the addresses of the Services that are there.
func endpoints(m *v1alpha1.Memcached, seen *observed) v1alpha1.MemcachedEndpoints {
	e := v1alpha1.MemcachedEndpoints{Nodes: nodeAddresses(m, seen)}
	if ours(m, seen.service) {
		e.Service = serviceAddress(m)
	}
	if d := m.Spec.Discovery; d != nil && ours(m, seen.discovery.service) {
		host := companionHost(m, componentDiscovery)
		e.Discovery = fmt.Sprintf("%s:%d", host, d.Port)
		e.NodeList = fmt.Sprintf("http://%s:%d/nodes", host, d.HTTPPort)
	}
	if m.Spec.Monitoring != nil && ours(m, seen.metrics.service) {
		e.Metrics = fmt.Sprintf("http://%s:%d/metrics", companionHost(m, componentMetrics), m.Spec.Monitoring.Port)
	}
	return e
}

// nodeAddresses are the lasting addresses of single nodes, which only a StatefulSet gives.
func nodeAddresses(m *v1alpha1.Memcached, seen *observed) []string {
	if m.Spec.Workload != v1alpha1.WorkloadStatefulSet || !ours(m, seen.service) {
		return nil
	}
	var addresses []string
	for i := range seen.nodes {
		if pod := &seen.nodes[i]; pod.Spec.Subdomain == m.Name {
			addresses = append(addresses, pod.Name+"."+serviceAddress(m))
		}
	}
	return addresses
}

// setConditions fills in the conditions; the rest of the status is there already.
func setConditions(m *v1alpha1.Memcached, seen *observed, images images, s *v1alpha1.MemcachedStatus, failed error) {
	set := func(conditionType string, status bool, c cause) {
		conditions.Set(&s.Conditions, m.Generation, conditionType, status, c.reason, c.message)
	}
	if !m.DeletionTimestamp.IsZero() {
		deleting := cause{reasonDeleting, "The nodes are taken out of the Service, and then removed"}
		set(v1alpha1.ConditionAvailable, false, deleting)
		set(v1alpha1.ConditionProgressing, true, deleting)
		set(v1alpha1.ConditionDegraded, false, deleting)
		return
	}
	wanted, w := wantedNodes(m, seen), seen.workload(m)
	ready := cause{reasonAllNodesReady, fmt.Sprintf("All %d nodes are ready", wanted) + waitingForRestart(m, seen, images.memcached)}
	if wanted == 0 {
		ready = cause{reasonScaledToZero, "The size is 0"}
	}
	notReady := cause{reasonNodesNotReady, notReadyMessage(s.ReadyNodes, wanted, s.Size, isServed(m, seen))}
	if s.ReadyNodes == wanted && s.Size == wanted && isServed(m, seen) && !isDiscoverable(m, seen) {
		notReady = cause{reasonDiscoveryNotReady, fmt.Sprintf("All %d nodes are ready, and the discovery endpoint does not answer", wanted)}
	}
	moving := cause{reasonUpdating, notReady.message}
	if change := changeMessage(m, seen); change != "" {
		moving.message = change
	}
	if !hasRun(m) {
		moving.reason = reasonCreating
	}

	stuck := stuckCause(failed)
	// All views must agree: the caches of workloads and pods are not of one moment.
	rolledOut := w.rolledOut(wanted, wasComplete(m) && !seen.written)
	complete := stuck == nil && failed == nil && isServed(m, seen) && isDiscoverable(m, seen) &&
		rolledOut && w.available == wanted && s.Size == wanted && s.ReadyNodes == wanted
	lost := stuck == nil && !complete && wasComplete(m) && rolledOut

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

	trouble := stuck
	if !complete {
		trouble = firstCause(trouble, w.trouble, podTrouble(seen.nodes), seen.infeasible, resizeCause(seen), silentCause(seen))
	}
	trouble = firstCause(trouble, companionTrouble(m, seen, images))
	switch {
	case trouble != nil:
		set(v1alpha1.ConditionDegraded, true, *trouble)
	case lost:
		set(v1alpha1.ConditionDegraded, true, notReady)
	case wantsServiceMonitor(m) && !seen.serviceMonitorsKnown:
		set(v1alpha1.ConditionDegraded, false, cause{reasonServiceMonitorUnknown,
			"The cluster does not know ServiceMonitors; one is created when the Prometheus Operator's definition of them is installed"})
	default:
		set(v1alpha1.ConditionDegraded, false, cause{conditions.ReasonAsExpected, "Nothing keeps the nodes from the wanted state"})
	}
}

// companionTrouble is the first thing that keeps a companion from running.
func companionTrouble(m *v1alpha1.Memcached, seen *observed, images images) *cause {
	if wantsNodeList(m) && images.companion == "" {
		return &cause{reasonNoCompanionImage,
			"discovery and monitoring run the operator's own image, and the operator does not know its name: start it with --companion-image or OPERATOR_IMAGE"}
	}
	return firstCause(deploymentWorkload(seen.discovery.deployment).trouble, deploymentWorkload(seen.metrics.deployment).trouble,
		podTrouble(seen.companions))
}

// notReadyMessage tells what is missing until all nodes of the current spec are there.
func notReadyMessage(ready, wanted, all int32, served bool) string {
	switch {
	case ready < wanted:
		return fmt.Sprintf("%d of %d nodes are ready", ready, wanted)
	case !served:
		return fmt.Sprintf("All %d nodes are ready, and not all of them can be found through the Service yet", wanted)
	case all > wanted:
		return fmt.Sprintf("%d nodes are ready, and %d are to go", ready, all-wanted)
	default:
		return fmt.Sprintf("All %d nodes are ready, and not all of them are of the current spec yet", wanted)
	}
}

// stuckCause is why the children cannot be brought to the current spec at all.
func stuckCause(failed error) *cause {
	if failed == nil || apply.IsWaiting(failed) {
		return nil
	}
	return &cause{apply.Reason(failed), failed.Error()}
}

// silentCause tells of a node that does not do what it is told, or does not answer.
func silentCause(seen *observed) *cause {
	if seen.refused != nil {
		return &cause{reasonNodeSilent, seen.refused.Error()}
	}
	for i := range seen.nodes {
		if err := seen.readings[seen.nodes[i].Name].err; err != nil {
			return &cause{reasonNodeSilent, fmt.Sprintf("Node %s: %v", seen.nodes[i].Name, err)}
		}
	}
	return nil
}

// waitingForRestart tells what the nodes get at their next restart, for which alone they
// are not restarted.
func waitingForRestart(m *v1alpha1.Memcached, seen *observed, defaultImage string) string {
	message := ""
	older := 0
	if template := seen.template(m); template != nil && m.Spec.Workload == v1alpha1.WorkloadStatefulSet {
		for i := range seen.nodes {
			if isOfOlderTemplate(&seen.nodes[i], template.Annotations) {
				older++
			}
		}
	}
	if older > 0 {
		message += fmt.Sprintf("; %d of them get a newer pod template at their next restart", older)
	}
	for i := range seen.nodes {
		if c := unshrunk(&seen.nodes[i]); c != nil {
			message += fmt.Sprintf("; one keeps its larger memory limit until its next restart (%s)", c.message)
			break
		}
	}
	if image := imageOf(m, seen, defaultImage); m.Spec.Image == "" && image != defaultImage {
		message += fmt.Sprintf("; they keep %s until their next restart, when they get %s", image, defaultImage)
	}
	return message
}

// podTrouble is the first thing that keeps a pod from running.
func podTrouble(pods []corev1.Pod) *cause {
	for i := range pods {
		if reason, message := podstate.Trouble(&pods[i]); reason != "" {
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
	return reason == reasonAllNodesReady || reason == reasonScaledToZero || reason == reasonNodesNotReady || reason == reasonDiscoveryNotReady
}

// wasComplete reports whether this generation of the spec has been reached before. A
// node that is not ready then is a loss, not a step on the way.
func wasComplete(m *v1alpha1.Memcached) bool {
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionProgressing)
	return c != nil && c.Status == metav1.ConditionFalse && c.ObservedGeneration == m.Generation && isOutcome(c.Reason)
}

// isServed reports whether clients find all nodes through the Service.
func isServed(m *v1alpha1.Memcached, seen *observed) bool {
	if !ours(m, seen.service) || !seen.service.DeletionTimestamp.IsZero() || isHeadless(seen.service) != wantsHeadless(m) {
		return false
	}
	return !slices.ContainsFunc(seen.nodes, func(node corev1.Pod) bool { return !seen.listed[node.Name] })
}

// isDiscoverable reports whether clients that ask for the list of nodes get an answer.
func isDiscoverable(m *v1alpha1.Memcached, seen *observed) bool {
	return m.Spec.Discovery == nil ||
		ours(m, seen.discovery.service) && ours(m, seen.discovery.deployment) && seen.discovery.deployment.Status.AvailableReplicas > 0
}

// wantedNodes is the size; where that is left to others, it is what they have set.
func wantedNodes(m *v1alpha1.Memcached, seen *observed) int32 {
	if m.Spec.Size != nil {
		return *m.Spec.Size
	}
	if w := seen.workload(m); w.generation > 0 {
		return w.replicas
	}
	return 1
}

// writeStatus stores the status if it has changed, and then tells what has. News that
// can wait is not written yet: the time after which to come back is returned. The
// write is a patch without a precondition: nobody else writes the status, and a spec
// that has changed meanwhile is told by observedGeneration.
func (r *Reconciler) writeStatus(ctx context.Context, m *v1alpha1.Memcached, s v1alpha1.MemcachedStatus) (time.Duration, error) {
	if equality.Semantic.DeepEqual(m.Status, s) {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(m)
	if wait := r.pace.Wait(key, time.Now()); wait > 0 && canWait(&m.Status, &s) {
		return wait, nil
	}
	before := m.DeepCopy()
	m.Status = s
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		if err := client.IgnoreNotFound(err); err != nil {
			return 0, fmt.Errorf("writing the status: %w", err)
		}
		return 0, nil
	}
	r.pace.Wrote(key, time.Now())
	conditions.Record(r.recorder, m, v1alpha1.ConditionDegraded, before.Status.Conditions, s.Conditions)
	return 0, nil
}

// canWait reports whether the only news is that a change under way has come further.
// A node that is gone is never kept in the list.
func canWait(before, after *v1alpha1.MemcachedStatus) bool {
	return meta.IsStatusConditionTrue(after.Conditions, v1alpha1.ConditionProgressing) &&
		conditions.SameState(before.Conditions, after.Conditions) &&
		// What was done to a node is known from nowhere else.
		equality.Semantic.DeepEqual(before.Restart, after.Restart) && equality.Semantic.DeepEqual(before.Flush, after.Flush) &&
		!slices.ContainsFunc(before.Nodes, func(node string) bool { return !slices.Contains(after.Nodes, node) })
}
