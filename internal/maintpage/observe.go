// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/podstate"
)

// observed is everything that a reconcile knows about the world. Children that do
// not exist are nil.
type observed struct {
	pod        *corev1.Pod
	deployment *appsv1.Deployment
	service    *corev1.Service
}

// observe reads it, from the cache but for a page that is not there.
func (r *Reconciler) observe(ctx context.Context, m *v1alpha1.MaintPage) (*observed, error) {
	seen := &observed{pod: &corev1.Pod{}, deployment: &appsv1.Deployment{}, service: &corev1.Service{}}
	app := types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.AppConfig.AppName}
	if err := r.client.Get(ctx, app, seen.deployment); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Deployment: %w", err)
	} else if err != nil {
		seen.deployment = nil
	}
	if err := r.client.Get(ctx, app, seen.service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the Service: %w", err)
	} else if err != nil {
		seen.service = nil
	}

	page := types.NamespacedName{Namespace: m.Namespace, Name: podName(m)}
	err := r.client.Get(ctx, page, seen.pod)
	if apierrors.IsNotFound(err) {
		// The cache holds pods with our label only. One of this name without it is
		// somebody else's, or ours with its labels changed by hand.
		err = r.direct.Get(ctx, page, seen.pod)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the page's pod: %w", err)
	} else if err != nil {
		seen.pod = nil
	}
	return seen, nil
}

// pageReady reports whether the maintenance page can take traffic.
func (seen *observed) pageReady() bool {
	return seen.pod != nil && podstate.Ready(seen.pod)
}

// appReady reports whether the application can take traffic.
func (seen *observed) appReady() bool {
	return seen.deployment != nil && seen.deployment.Status.ReadyReplicas > 0
}
