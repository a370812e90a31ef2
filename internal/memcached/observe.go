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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

	written bool // the workload is the API server's answer to a change
}

// observe reads it, all of it from the cache.
func (r *Reconciler) observe(ctx context.Context, m *v1alpha1.Memcached) (*observed, error) {
	seen := &observed{}
	key := client.ObjectKeyFromObject(m)
	if err := errors.Join(
		get(ctx, r.client, key, &seen.deployment),
		get(ctx, r.client, key, &seen.statefulSet),
		get(ctx, r.client, key, &seen.service),
		get(ctx, r.client, key, &seen.budget),
		get(ctx, r.client, key, &seen.networkPolicy),
	); err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(m.Namespace), client.MatchingLabels(selectorLabels(m))); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	seen.nodes = nodesAmong(pods.Items)
	endpoints := &discoveryv1.EndpointSliceList{}
	if err := r.client.List(ctx, endpoints, client.InNamespace(m.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: m.Name}); err != nil {
		return nil, fmt.Errorf("listing EndpointSlices: %w", err)
	}
	seen.listed = listedIn(endpoints.Items)
	return seen, nil
}

// get reads an object, or leaves it nil if there is none.
func get[T any, L apply.Live[T]](ctx context.Context, c client.Reader, key client.ObjectKey, object *L) error {
	found := L(new(T))
	err := c.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %T: %w", found, err)
	}
	*object = found
	return nil
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

// nodesAmong leaves out pods that are going, or have ended and will not start again.
func nodesAmong(pods []corev1.Pod) []corev1.Pod {
	nodes := slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return !pod.DeletionTimestamp.IsZero() || podstate.Ended(&pod)
	})
	slices.SortFunc(nodes, func(a, b corev1.Pod) int {
		// Numbers as numbers: sorted as text, -10 comes before -9.
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
