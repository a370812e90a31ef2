// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/podstate"
)

// observed is everything that a reconcile knows about the world. Children that do
// not exist are nil.
type observed struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
	nodes      []corev1.Pod // sorted by name

	written bool // the Deployment is the API server's answer to a write
}

// observe reads it, all of it from the cache.
func (r *Reconciler) observe(ctx context.Context, m *v1alpha1.Memcached) (*observed, error) {
	seen := &observed{deployment: &appsv1.Deployment{}, service: &corev1.Service{}}
	key := client.ObjectKeyFromObject(m)
	if err := r.client.Get(ctx, key, seen.deployment); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Deployment: %w", err)
	} else if err != nil {
		seen.deployment = nil
	}
	if err := r.client.Get(ctx, key, seen.service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Service: %w", err)
	} else if err != nil {
		seen.service = nil
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(m.Namespace), client.MatchingLabels(selectorLabels(m))); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	seen.nodes = nodesAmong(pods.Items)
	return seen, nil
}

// nodesAmong leaves out pods that are going, or have ended and will not start again.
func nodesAmong(pods []corev1.Pod) []corev1.Pod {
	nodes := slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return !pod.DeletionTimestamp.IsZero() || podstate.Ended(&pod)
	})
	slices.SortFunc(nodes, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return nodes
}
