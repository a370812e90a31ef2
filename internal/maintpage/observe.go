// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/podstate"
)

// observed is everything that a reconcile knows about the world. Children that do
// not exist are nil.
type observed struct {
	now time.Time

	// The application and the Service that leads to it or to the page.
	deployment *appsv1.Deployment
	service    *corev1.Service
	appPods    []corev1.Pod    // of an application that the operator runs
	endpoints  map[string]bool // names of the pods that the Service leads to

	// The page.
	pod            *corev1.Pod
	pageDeployment *appsv1.Deployment
	budget         *policyv1.PodDisruptionBudget
	content        *corev1.ConfigMap
	pagePods       []corev1.Pod
	// source is the user's ConfigMap. Its data is read only if it has changed.
	source *corev1.ConfigMap

	// rival is another resource that claimed the application before this one.
	rival string
	// truce is until when a selector that somebody else keeps changing is left alone.
	truce time.Time
}

// observe reads it, from the cache but for a page that is not there and a user's
// ConfigMap that has changed.
func (r *Reconciler) observe(ctx context.Context, m *v1alpha1.MaintPage) (*observed, error) {
	seen := &observed{now: r.now()}
	app := types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.AppConfig.AppName}
	page := types.NamespacedName{Namespace: m.Namespace, Name: pageName(m)}
	if err := errors.Join(
		apply.Read(ctx, r.client, app, &seen.deployment),
		apply.Read(ctx, r.client, app, &seen.service),
		apply.Read(ctx, r.client, page, &seen.pageDeployment),
		apply.Read(ctx, r.client, page, &seen.budget),
		apply.Read(ctx, r.client, page, &seen.content),
		r.readPod(ctx, m, seen),
		r.readPods(ctx, m, seen),
		r.readEndpoints(ctx, m, seen),
		r.readSource(ctx, m, seen),
		r.readRival(ctx, m, seen),
	); err != nil {
		return nil, err
	}
	seen.countPod(m)
	return seen, nil
}

// countPod puts the page's pod as it is now among the pods of the page. It is not there
// if its label was removed by hand, or if it was just made.
func (seen *observed) countPod(m *v1alpha1.MaintPage) {
	pod := ours(m, seen.pod)
	if pod == nil {
		return
	}
	if i := slices.IndexFunc(seen.pagePods, func(p corev1.Pod) bool { return p.Name == pod.Name }); i >= 0 {
		seen.pagePods[i] = *pod
		return
	}
	seen.pagePods = append(seen.pagePods, *pod)
}

// readPod reads the page's pod by its name. The cache holds pods with our label only.
// One of this name without it is somebody else's, or ours with its labels changed by hand.
func (r *Reconciler) readPod(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	key := types.NamespacedName{Namespace: m.Namespace, Name: podName(m)}
	if err := apply.Read(ctx, r.client, key, &seen.pod); err != nil || seen.pod != nil || m.Spec.Page.Replicas > 1 {
		return err
	}
	return apply.Read(ctx, r.direct, key, &seen.pod)
}

func (r *Reconciler) readPods(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(m.Namespace), client.MatchingLabels{labelInstance: m.Name}); err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	for i := range pods.Items {
		if pods.Items[i].Labels[labelComponent] == componentPage {
			seen.pagePods = append(seen.pagePods, pods.Items[i])
		} else {
			seen.appPods = append(seen.appPods, pods.Items[i])
		}
	}
	return nil
}

func (r *Reconciler) readEndpoints(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	all := &discoveryv1.EndpointSliceList{}
	if err := r.client.List(ctx, all, client.InNamespace(m.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: m.Spec.AppConfig.AppName}); err != nil {
		return fmt.Errorf("listing EndpointSlices: %w", err)
	}
	seen.endpoints = map[string]bool{}
	for i := range all.Items {
		for _, endpoint := range all.Items[i].Endpoints {
			if endpoint.TargetRef != nil && ptr.Deref(endpoint.Conditions.Ready, true) {
				seen.endpoints[endpoint.TargetRef.Name] = true
			}
		}
	}
	return nil
}

// readSource looks at the user's ConfigMap. The cache does not hold the data of
// foreign objects: they are read when they are not the ones that were copied.
func (r *Reconciler) readSource(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	reference := m.Spec.Page.ConfigMapRef
	if reference == nil {
		return nil
	}
	key := types.NamespacedName{Namespace: m.Namespace, Name: reference.Name}
	if err := apply.Read(ctx, r.client, key, &seen.source); err != nil || seen.source == nil || copied(m, seen) {
		return err
	}
	return apply.Read(ctx, r.direct, key, &seen.source)
}

// readRival looks for a resource that claimed the application earlier.
func (r *Reconciler) readRival(ctx context.Context, m *v1alpha1.MaintPage, seen *observed) error {
	claimants := &v1alpha1.MaintPageList{}
	if err := r.client.List(ctx, claimants, client.InNamespace(m.Namespace),
		client.MatchingFields{appNameIndex: m.Spec.AppConfig.AppName}); err != nil {
		return fmt.Errorf("listing MaintPages: %w", err)
	}
	for i := range claimants.Items {
		other := &claimants.Items[i]
		if other.CreationTimestamp.Before(&m.CreationTimestamp) ||
			other.CreationTimestamp.Equal(&m.CreationTimestamp) && other.Name < m.Name {
			seen.rival = other.Name
			return nil
		}
	}
	return nil
}

// appReady reports whether the application has a ready pod. One that is being scaled
// to zero has none any more, even if its status does not say so yet.
func (seen *observed) appReady() bool {
	return seen.deployment != nil && seen.deployment.Status.ReadyReplicas > 0 && ptr.Deref(seen.deployment.Spec.Replicas, 1) > 0
}

// leadsTo reports whether every address behind the Service belongs to a side, and
// there is one.
func (seen *observed) leadsTo(s side) bool {
	isPage := map[string]bool{}
	for i := range seen.pagePods {
		isPage[seen.pagePods[i].Name] = true
	}
	for name := range seen.endpoints {
		if side(isPage[name]) != s {
			return false
		}
	}
	return len(seen.endpoints) > 0
}

// readyPagePod reports whether any pod of the page can take traffic.
func (seen *observed) readyPagePod() bool {
	for i := range seen.pagePods {
		if podstate.Ready(&seen.pagePods[i]) {
			return true
		}
	}
	return false
}
