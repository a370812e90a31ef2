// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package maintpage runs MaintPage resources: an application, its maintenance page,
// and the Service that leads to one of them.
package maintpage

import (
	"context"
	"errors"
	"flag"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

const (
	// Name is the operator's name, and its field manager: changing it would orphan
	// every field that it owns.
	Name = "maintpage-operator"

	// appNameIndex finds the resources that claim an application, sourceIndex those
	// that show a ConfigMap.
	appNameIndex = "spec.appconfig.appname"
	sourceIndex  = "spec.page.configMapRef.name"
)

var ownerKind = v1alpha1.SchemeGroupVersion.WithKind("MaintPage").GroupKind()

// Everything is read through watches, which takes no get, but for a page's pod that
// is not in the cache and a ConfigMap of the user's that has changed. Children are
// applied, which takes the verbs patch and create; finalizers is what
// blockOwnerDeletion in their owner references takes, and patch of the resource itself
// is for the finalizer.
//
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages,verbs=list;watch;patch
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages/status,verbs=patch
// +kubebuilder:rbac:groups=maintpage.example.com,resources=maintpages/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes the cluster what MaintPage resources say.
type Reconciler struct {
	image    string
	client   client.Client
	direct   client.Reader
	writer   *apply.Writer
	recorder conditions.Recorder
	pace     conditions.Pace
	contests contests
	now      func() time.Time
}

// BindFlags registers the operator's own flags.
func (r *Reconciler) BindFlags(flags *flag.FlagSet) {
	flags.StringVar(&r.image, "page-image", os.Getenv("OPERATOR_IMAGE"),
		"The image that holds the built-in page, which is the operator's own. The environment variable OPERATOR_IMAGE is its default.")
}

// Cache lists what the operator reads. Of Deployments and Services every one may be
// adopted; of other kinds every name has to be known, because one that is taken must
// not be taken over. Caching every pod of a cluster to know about one name would be
// too much: only ours are cached, and a page that is missing is looked for at the API
// server.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.MaintPage{}:           {},
		&appsv1.Deployment{}:            {Transform: stripDeployment},
		&corev1.Service{}:               {},
		&corev1.ConfigMap{}:             {Transform: apply.StripForeign[corev1.ConfigMap](Name, ownerKind)},
		&policyv1.PodDisruptionBudget{}: {Transform: apply.StripForeign[policyv1.PodDisruptionBudget](Name, ownerKind)},
		&discoveryv1.EndpointSlice{}:    {Label: labeledSlices, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:                   {Label: managedPods},
	}
}

// stripDeployment keeps of a foreign Deployment what an adoption needs.
func stripDeployment(obj any) (any, error) {
	stripped, err := apply.StripForeign[appsv1.Deployment](Name, ownerKind)(obj)
	if err != nil || stripped == obj {
		return obj, err
	}
	whole, kept := obj.(*appsv1.Deployment), stripped.(*appsv1.Deployment)
	kept.Annotations = whole.Annotations
	kept.Generation = whole.Generation
	kept.Spec.Replicas = whole.Spec.Replicas
	kept.Spec.Selector = whole.Spec.Selector
	kept.Spec.Template.Labels = whole.Spec.Template.Labels
	for _, container := range whole.Spec.Template.Spec.Containers {
		kept.Spec.Template.Spec.Containers = append(kept.Spec.Template.Spec.Containers,
			corev1.Container{Name: container.Name, Ports: container.Ports})
	}
	kept.Status = whole.Status
	return kept, nil
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	r.direct = mgr.GetAPIReader()
	r.writer = apply.NewWriter(r.client, Name)
	r.recorder = mgr.GetEventRecorder(Name)
	if r.now == nil {
		r.now = time.Now
	}
	for name, key := range map[string]func(*v1alpha1.MaintPage) string{
		appNameIndex: func(m *v1alpha1.MaintPage) string { return m.Spec.AppConfig.AppName },
		sourceIndex: func(m *v1alpha1.MaintPage) string {
			if m.Spec.Page.ConfigMapRef == nil {
				return ""
			}
			return m.Spec.Page.ConfigMapRef.Name
		},
	} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.MaintPage{}, name,
			func(obj client.Object) []string { return []string{key(obj.(*v1alpha1.MaintPage))} }); err != nil {
			return err
		}
	}
	ownerOrClaimants := handler.EnqueueRequestsFromMapFunc(r.ownerOrNamed(appNameIndex))
	return ctrl.NewControllerManagedBy(mgr).
		Named("maintpage").
		For(&v1alpha1.MaintPage{}).
		// One that goes leaves its application to the next that claims it.
		Watches(&v1alpha1.MaintPage{}, handler.EnqueueRequestsFromMapFunc(r.otherClaimants)).
		Watches(&appsv1.Deployment{}, ownerOrClaimants).
		Watches(&corev1.Service{}, ownerOrClaimants).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.ownerOrNamed(sourceIndex))).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(byLabel(labelResource))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(byLabel(labelInstance))).
		Complete(r)
}

// ownerOrNamed finds the resource of a child. An object that is not ours but has the
// name that a resource speaks of counts too: it may be adopted, or shown, and when it
// goes, ours can come.
func (r *Reconciler) ownerOrNamed(index string) handler.MapFunc {
	return func(ctx context.Context, child client.Object) []reconcile.Request {
		if controller := metav1.GetControllerOfNoCopy(child); controller != nil && controller.Kind == ownerKind.Kind {
			return []reconcile.Request{request(child.GetNamespace(), controller.Name)}
		}
		return r.named(ctx, index, child.GetNamespace(), child.GetName())
	}
}

func (r *Reconciler) otherClaimants(ctx context.Context, m client.Object) []reconcile.Request {
	return r.named(ctx, appNameIndex, m.GetNamespace(), m.(*v1alpha1.MaintPage).Spec.AppConfig.AppName)
}

// named are the resources that speak of an object.
func (r *Reconciler) named(ctx context.Context, index, namespace, name string) []reconcile.Request {
	resources := &v1alpha1.MaintPageList{}
	if err := r.client.List(ctx, resources, client.InNamespace(namespace), client.MatchingFields{index: name}); err != nil {
		return nil // the cache has stopped, and so has the operator
	}
	var requests []reconcile.Request
	for i := range resources.Items {
		requests = append(requests, request(namespace, resources.Items[i].Name))
	}
	return requests
}

func byLabel(label string) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{request(object.GetNamespace(), object.GetLabels()[label])}
	}
}

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// Reconcile brings one resource closer to what its spec says, and tells how far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.MaintPage{}
	if err := r.client.Get(ctx, req.NamespacedName, m); apierrors.IsNotFound(err) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := demanded(m, seen)
	if contested(m, seen, d) {
		seen.truce = r.contests.truce(req.NamespacedName, seen.now)
	}
	p := decide(m, seen, d, r.image)
	failed := r.apply(ctx, m, seen, p)
	if apply.IsHiccup(failed) {
		return ctrl.Result{}, failed
	}
	s := status(m, seen, d, p.history, failed)
	count(req.NamespacedName, &s)
	look := nextLook(m, seen, d, s.History)
	wait, err := r.writeStatus(ctx, m, s)
	if err != nil {
		return ctrl.Result{}, errors.Join(apply.Retry(failed), err)
	}
	if look == 0 || wait > 0 && wait < look {
		look = wait
	}
	return ctrl.Result{RequeueAfter: look}, apply.Retry(failed)
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.pace.Forget(key)
	r.contests.forget(key)
	uncount(key)
}

// nextLook is when to look again without being woken, or 0.
func nextLook(m *v1alpha1.MaintPage, seen *observed, d demand, history []v1alpha1.Switch) time.Duration {
	moments := []time.Time{d.until, stageEnds(m, history, seen), seen.truce}
	if seen.pod != nil && ours(m, seen.pod) == nil {
		// Foreign pods are not cached, so nothing tells when one that has the page's name is gone.
		moments = append(moments, seen.now.Add(time.Minute))
	}
	if seen.pod != nil && !seen.pod.DeletionTimestamp.IsZero() && !overdue(seen) {
		moments = append(moments, seen.pod.DeletionTimestamp.Time)
	}
	if releasing(m) && !gaveUp(m, seen) {
		moments = append(moments, seen.now.Add(patience/10))
	}
	var look time.Duration
	for _, moment := range moments {
		if in := moment.Sub(seen.now); !moment.IsZero() && in > 0 && (look == 0 || in < look) {
			look = in
		}
	}
	return look
}
