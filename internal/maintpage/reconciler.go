// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintpage runs MaintPage resources: an application, its maintenance page,
// and the Service that leads to one of them.
package maintpage

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/conditions"
)

// Name is the operator's name, and its field manager: changing it would orphan every
// field that it owns.
const Name = "maintpage-operator"

// appNameIndex finds the resources that claim an application.
const appNameIndex = "spec.appconfig.appname"

var ownerKind = v1alpha1.SchemeGroupVersion.WithKind("MaintPage").GroupKind()

// Everything is read through watches, which takes no get, but for a page's pod that
// is not in the cache. Children are applied, which takes the verbs patch and create;
// finalizers is what blockOwnerDeletion in their owner references takes.
//
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages,verbs=list;watch
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages/status,verbs=patch
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes the cluster what MaintPage resources say.
type Reconciler struct {
	client   client.Client
	direct   client.Reader
	writer   *apply.Writer
	recorder conditions.Recorder
}

// Cache lists what the operator reads. Of Deployments and Services every name has to
// be known, because one that is taken must not be taken over. Caching every pod of a
// cluster to know about one name would be too much: only pages are cached, and a page
// that is missing is looked for at the API server.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.MaintPage{}: {Transform: cache.TransformStripManagedFields()},
		&appsv1.Deployment{}:  {Transform: apply.StripForeign[appsv1.Deployment](Name, ownerKind)},
		&corev1.Service{}:     {Transform: apply.StripForeign[corev1.Service](Name, ownerKind)},
		&corev1.Pod{}:         {Label: pagePods},
	}
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	r.direct = mgr.GetAPIReader()
	r.writer = apply.NewWriter(r.client, Name)
	r.recorder = mgr.GetEventRecorder(Name)
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.MaintPage{}, appNameIndex,
		func(obj client.Object) []string {
			return []string{obj.(*v1alpha1.MaintPage).Spec.AppConfig.AppName}
		}); err != nil {
		return err
	}
	ownerOrClaimants := handler.EnqueueRequestsFromMapFunc(r.ownerOrClaimants)
	return ctrl.NewControllerManagedBy(mgr).
		Named("maintpage").
		For(&v1alpha1.MaintPage{}).
		Watches(&appsv1.Deployment{}, ownerOrClaimants).
		Watches(&corev1.Service{}, ownerOrClaimants).
		Owns(&corev1.Pod{}).
		Complete(r)
}

// ownerOrClaimants finds the resource of a child. An object that is not ours but has
// the name of somebody's application counts too: when it goes, ours can come.
func (r *Reconciler) ownerOrClaimants(ctx context.Context, child client.Object) []reconcile.Request {
	if controller := metav1.GetControllerOfNoCopy(child); controller != nil && controller.Kind == ownerKind.Kind {
		return []reconcile.Request{request(child.GetNamespace(), controller.Name)}
	}
	claimants := &v1alpha1.MaintPageList{}
	if err := r.client.List(ctx, claimants, client.InNamespace(child.GetNamespace()),
		client.MatchingFields{appNameIndex: child.GetName()}); err != nil {
		return nil // the cache has stopped, and so has the operator
	}
	var requests []reconcile.Request
	for i := range claimants.Items {
		requests = append(requests, request(claimants.Items[i].Namespace, claimants.Items[i].Name))
	}
	return requests
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// Reconcile brings one resource closer to what its spec says, and tells how far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.MaintPage{}
	if err := r.client.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	seen, err := r.observe(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	failed := r.apply(ctx, m, seen, decide(m, seen))
	if apply.IsHiccup(failed) {
		return ctrl.Result{}, failed
	}
	if err := r.writeStatus(ctx, m, status(m, seen, failed)); err != nil {
		return ctrl.Result{}, errors.Join(apply.Retry(failed), err)
	}
	return ctrl.Result{RequeueAfter: nextLook(m, seen)}, apply.Retry(failed)
}

// nextLook is when to look again without being woken. Foreign pods are not cached,
// so nothing tells when one that has the page's name is gone.
func nextLook(m *v1alpha1.MaintPage, seen *observed) time.Duration {
	if seen.pod != nil && ours(m, seen.pod) == nil {
		return time.Minute
	}
	return 0
}
