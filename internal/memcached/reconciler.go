// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memcached runs Memcached resources: a Deployment of independent nodes and
// the Service through which clients find them.
package memcached

import (
	"context"
	"errors"
	"flag"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/conditions"
)

const (
	// Name is the operator's name, and its field manager: changing it would orphan
	// every field that it owns.
	Name = "memcached-operator"

	// DefaultImage is the image of nodes whose resource names none, unless the
	// operator is told another.
	DefaultImage = "docker.io/library/memcached:1.6.45"
)

var ownerKind = v1alpha1.SchemeGroupVersion.WithKind("Memcached").GroupKind()

// Everything is read through watches, which takes no get. Children are applied, which
// takes the verbs patch and create; finalizers is what blockOwnerDeletion in their
// owner references takes.
//
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;watch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes the cluster what Memcached resources say.
type Reconciler struct {
	image    string
	client   client.Client
	writer   *apply.Writer
	recorder conditions.Recorder
}

// BindFlags registers the operator's own flags.
func (r *Reconciler) BindFlags(flags *flag.FlagSet) {
	image := os.Getenv("MEMCACHED_IMAGE")
	if image == "" {
		image = DefaultImage
	}
	flags.StringVar(&r.image, "memcached-image", image,
		"The image of nodes whose resource names none. The environment variable MEMCACHED_IMAGE is its default.")
}

// Cache lists what the operator reads. Of Deployments and Services every name has to
// be known, because one that is taken must not be taken over; of pods only our nodes,
// found by the label that also makes them ours: a pod that loses it leaves the
// Deployment, too.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.Memcached{}: {Transform: cache.TransformStripManagedFields()},
		&appsv1.Deployment{}:  {Transform: apply.StripForeign[appsv1.Deployment](Name, ownerKind)},
		&corev1.Service{}:     {Transform: apply.StripForeign[corev1.Service](Name, ownerKind)},
		&corev1.Pod{}:         {Label: nodePods, Transform: cache.TransformStripManagedFields()},
	}
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	r.writer = apply.NewWriter(r.client, Name)
	r.recorder = mgr.GetEventRecorder(Name)
	ownerOrNamesake := handler.EnqueueRequestsFromMapFunc(r.ownerOrNamesake)
	return ctrl.NewControllerManagedBy(mgr).
		Named("memcached").
		For(&v1alpha1.Memcached{}).
		Watches(&appsv1.Deployment{}, ownerOrNamesake).
		Watches(&corev1.Service{}, ownerOrNamesake).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(resourceOfPod)).
		Complete(r)
}

// ownerOrNamesake finds the resource of a child. An object that is not ours but has
// the name that a child needs counts too: when it goes, the child can come.
func (r *Reconciler) ownerOrNamesake(ctx context.Context, child client.Object) []reconcile.Request {
	key := client.ObjectKeyFromObject(child)
	if controller := metav1.GetControllerOfNoCopy(child); controller != nil && controller.Kind == ownerKind.Kind {
		key.Name = controller.Name
	}
	if err := r.client.Get(ctx, key, &v1alpha1.Memcached{}); err != nil {
		return nil // not found: most Deployments and Services have nothing to do with us
	}
	return []reconcile.Request{{NamespacedName: key}}
}

func resourceOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: pod.GetNamespace(), Name: pod.GetLabels()[labelResource],
	}}}
}

// Reconcile brings one resource closer to what its spec says, and tells how far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.Memcached{}
	if err := r.client.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	seen, err := r.observe(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	failed := r.apply(ctx, m, seen, decide(m, seen, r.image))
	if apply.IsHiccup(failed) {
		return ctrl.Result{}, failed
	}
	if err := r.writeStatus(ctx, m, status(m, seen, r.image, failed)); err != nil {
		return ctrl.Result{}, errors.Join(apply.Retry(failed), err)
	}
	return ctrl.Result{}, apply.Retry(failed)
}

// plan is what has to be written. Nil leaves a child as it is.
type plan struct {
	deployment    *appsv1ac.DeploymentApplyConfiguration
	service       *corev1ac.ServiceApplyConfiguration
	deleteService bool
}

// decide plans the next step. It does nothing for a resource that is being deleted,
// whose children the garbage collector removes, nor for one that asks for nodes of a
// kind that this version cannot run: other nodes than asked for may be worse than none.
func decide(m *v1alpha1.Memcached, seen *observed, defaultImage string) plan {
	if !m.DeletionTimestamp.IsZero() || blocked(m) {
		return plan{}
	}
	return plan{
		deployment: deployment(m, imageOf(m, defaultImage)),
		service:    service(m),
		// Whether a Service is headless cannot be changed. The new one comes when the
		// old one is seen to be gone.
		deleteService: seen.service != nil && isHeadless(seen.service) != wantsHeadless(m),
	}
}

// apply carries the plan out and updates what was seen. One child that fails does not
// keep the other from being written.
func (r *Reconciler) apply(ctx context.Context, m *v1alpha1.Memcached, seen *observed, p plan) error {
	var deploymentErr, serviceErr error
	if p.deployment != nil {
		before := seen.deployment
		seen.deployment, deploymentErr = apply.Apply(ctx, r.writer, m, before, p.deployment)
		seen.written = seen.deployment != before
	}
	switch {
	case p.deleteService:
		serviceErr = apply.Delete(ctx, r.writer, m, seen.service)
	case p.service != nil:
		seen.service, serviceErr = apply.Apply(ctx, r.writer, m, seen.service, p.service)
	}
	return errors.Join(deploymentErr, serviceErr)
}
