// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/podstate"
)

// observed is everything that a reconcile knows about the world. Children that do
// not exist are nil.
type observed struct {
	deployment    *appsv1.Deployment
	statefulSet   *appsv1.StatefulSet
	service       *corev1.Service
	budget        *policyv1.PodDisruptionBudget
	networkPolicy *networkingv1.NetworkPolicy
	nodes         []corev1.Pod    // sorted
	listed        map[string]bool // the pods that clients find through the Service

	nodeList             *corev1.ConfigMap
	discovery, metrics   companionChildren
	companions           []corev1.Pod // of both
	serviceMonitor       *monitoringv1.ServiceMonitor
	serviceMonitorsKnown bool // to the cluster

	now               time.Time
	operatorNamespace string // empty if it is not known

	readings  map[string]reading // of the nodes, by name
	hitRates  map[string]int32   // of nodes that warm up, in percent
	resizable bool               // the API server can resize a running pod

	// What was done about them.
	done    *step
	flushed string // the node that was emptied
	refused error  // what could not be done
	// infeasible is why a node cannot be resized, as long as nothing else changes.
	infeasible *cause

	written bool // the workload is the API server's answer to a change
}

// companionChildren are what makes a companion.
type companionChildren struct {
	deployment    *appsv1.Deployment
	service       *corev1.Service
	budget        *policyv1.PodDisruptionBudget
	networkPolicy *networkingv1.NetworkPolicy
}

// observe reads it, all of it from the cache, and asks the nodes that have to be asked.
func (r *Reconciler) observe(ctx context.Context, m *v1alpha1.Memcached) (*observed, error) {
	seen := &observed{now: time.Now(), operatorNamespace: r.namespace}
	key := client.ObjectKeyFromObject(m)
	if err := errors.Join(
		apply.Read(ctx, r.client, key, &seen.deployment),
		apply.Read(ctx, r.client, key, &seen.statefulSet),
		apply.Read(ctx, r.client, key, &seen.service),
		apply.Read(ctx, r.client, key, &seen.budget),
		apply.Read(ctx, r.client, key, &seen.networkPolicy),
		apply.Read(ctx, r.client, client.ObjectKey{Namespace: m.Namespace, Name: nodeListName(m)}, &seen.nodeList),
		r.observeCompanion(ctx, m, componentDiscovery, &seen.discovery),
		r.observeCompanion(ctx, m, componentMetrics, &seen.metrics),
		r.serviceMonitors.read(ctx, key, seen),
	); err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(m.Namespace), client.MatchingLabels{labelResource: m.Name}); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	seen.nodes = sorted(podsOf(selectorLabels(m), pods.Items))
	seen.companions = slices.Concat(
		podsOf(companionSelector(m, componentDiscovery), pods.Items),
		podsOf(companionSelector(m, componentMetrics), pods.Items))
	endpoints := &discoveryv1.EndpointSliceList{}
	if err := r.client.List(ctx, endpoints, client.InNamespace(m.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: m.Name}); err != nil {
		return nil, fmt.Errorf("listing EndpointSlices: %w", err)
	}
	seen.listed = listedIn(endpoints.Items)
	r.readNodes(ctx, m, seen)
	return seen, nil
}

func (r *Reconciler) observeCompanion(ctx context.Context, m *v1alpha1.Memcached, component string, seen *companionChildren) error {
	key := client.ObjectKey{Namespace: m.Namespace, Name: companionName(m, component)}
	return errors.Join(
		apply.Read(ctx, r.client, key, &seen.deployment),
		apply.Read(ctx, r.client, key, &seen.service),
		apply.Read(ctx, r.client, key, &seen.budget),
		apply.Read(ctx, r.client, key, &seen.networkPolicy),
	)
}

// podsOf are the pods that labels select, without those that are going, or have ended
// and will not start again.
func podsOf(selected map[string]string, pods []corev1.Pod) []corev1.Pod {
	selector := labels.SelectorFromSet(selected)
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return !selector.Matches(labels.Set(pod.Labels)) || !pod.DeletionTimestamp.IsZero() || podstate.Ended(&pod)
	})
}

// listedIn are the pods that are ready endpoints.
func listedIn(all []discoveryv1.EndpointSlice) map[string]bool {
	listed := map[string]bool{}
	for _, slice := range all {
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef != nil && ptr.Deref(endpoint.Conditions.Ready, true) {
				listed[endpoint.TargetRef.Name] = true
			}
		}
	}
	return listed
}

// sorted puts nodes in order: numbers as numbers; sorted as text, -10 comes before -9.
func sorted(nodes []corev1.Pod) []corev1.Pod {
	slices.SortFunc(nodes, func(a, b corev1.Pod) int {
		return cmp.Or(cmp.Compare(ordinal(&a), ordinal(&b)), cmp.Compare(a.Name, b.Name))
	})
	return nodes
}

// ordinal is the number of a StatefulSet's pod, and 0 for all pods of a Deployment.
func ordinal(pod *corev1.Pod) int {
	n, err := strconv.Atoi(pod.Labels[appsv1.PodIndexLabel])
	if err != nil {
		return 0
	}
	return n
}
