// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memcached runs Memcached resources: independent nodes and the Service
// through which clients find them.
package memcached

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

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

// Everything is read through watches, which takes no get. Only Secrets are read one at a
// time, when they are needed: a watch takes the right to read all of them. Children are
// applied, which takes the verbs patch and create; the subresource finalizers is what
// blockOwnerDeletion in their owner references takes, and patch of the resource itself
// is for the finalizer. Pods are patched to tell companions the list of nodes.
//
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=list;watch;patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=servicemonitors,verbs=list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=servicemonitors.monitoring.coreos.com,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler makes the cluster what Memcached resources say.
type Reconciler struct {
	images          images
	namespace       string
	client          client.Client
	secrets         client.Reader // past the cache
	writer          *apply.Writer
	recorder        conditions.Recorder
	pace            conditions.Pace
	remembered      remembered
	serviceMonitors *serviceMonitors
}

// AddToScheme registers what the operator reads and writes beside the API of Kubernetes.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(v1alpha1.AddToScheme(scheme), monitoringv1.AddToScheme(scheme))
}

// BindFlags registers the operator's own flags.
func (r *Reconciler) BindFlags(flags *flag.FlagSet) {
	image := os.Getenv("MEMCACHED_IMAGE")
	if image == "" {
		image = DefaultImage
	}
	flags.StringVar(&r.images.memcached, "memcached-image", image,
		"The image of nodes whose resource names none. The environment variable MEMCACHED_IMAGE is its default.")
	flags.StringVar(&r.namespace, "operator-namespace", os.Getenv("OPERATOR_NAMESPACE"),
		"The namespace of the operator's own pod, which networkPolicy lets in. The environment variable OPERATOR_NAMESPACE is its default.")
	flags.StringVar(&r.images.companion, "companion-image", os.Getenv("OPERATOR_IMAGE"),
		"The image with the programs of discovery, monitoring, tls and auth, which is the operator's own. The environment variable OPERATOR_IMAGE is its default.")
}

// Cache lists what the operator reads. Of children every name has to be known, because
// one that is taken must not be taken over; of pods only our nodes, found by the label
// that also makes them ours: a pod that loses it leaves its workload, too.
// EndpointSlices have the labels of their Service. Of ConfigMaps the one that every
// namespace has is left out; no child can have its name.
func Cache() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&v1alpha1.Memcached{}:           {Transform: cache.TransformStripManagedFields()},
		&appsv1.Deployment{}:            {Transform: apply.StripForeign[appsv1.Deployment](Name, ownerKind)},
		&appsv1.StatefulSet{}:           {Transform: apply.StripForeign[appsv1.StatefulSet](Name, ownerKind)},
		&corev1.Service{}:               {Transform: apply.StripForeign[corev1.Service](Name, ownerKind)},
		&policyv1.PodDisruptionBudget{}: {Transform: apply.StripForeign[policyv1.PodDisruptionBudget](Name, ownerKind)},
		&networkingv1.NetworkPolicy{}:   {Transform: apply.StripForeign[networkingv1.NetworkPolicy](Name, ownerKind)},
		&corev1.ConfigMap{}: {
			Field:     fields.OneTermNotEqualSelector(metav1.ObjectNameField, "kube-root-ca.crt"),
			Transform: apply.StripForeign[corev1.ConfigMap](Name, ownerKind),
		},
		&discoveryv1.EndpointSlice{}: {Label: labeled, Transform: cache.TransformStripManagedFields()},
		&corev1.Pod{}:                {Label: labeled, Transform: cache.TransformStripManagedFields()},
	}
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client = mgr.GetClient()
	r.secrets = mgr.GetAPIReader()
	r.writer = apply.NewWriter(r.client, Name)
	r.recorder = mgr.GetEventRecorder(Name)
	if err := r.writer.Know(serviceMonitorKind); err != nil {
		return err
	}
	var err error
	if r.serviceMonitors, err = newServiceMonitors(mgr); err != nil {
		return err
	}
	if err := mgr.Add(r.serviceMonitors); err != nil {
		return err
	}
	ownerOrNamesake := handler.EnqueueRequestsFromMapFunc(r.ownerOrNamesake)
	byLabel := handler.EnqueueRequestsFromMapFunc(resourceByLabel)
	return ctrl.NewControllerManagedBy(mgr).
		Named("memcached").
		For(&v1alpha1.Memcached{}).
		Watches(&appsv1.Deployment{}, ownerOrNamesake).
		Watches(&appsv1.StatefulSet{}, ownerOrNamesake).
		Watches(&corev1.Service{}, ownerOrNamesake).
		Watches(&policyv1.PodDisruptionBudget{}, ownerOrNamesake).
		Watches(&networkingv1.NetworkPolicy{}, ownerOrNamesake).
		Watches(&corev1.ConfigMap{}, ownerOrNamesake).
		WatchesRawSource(source.Channel(r.serviceMonitors.changed, ownerOrNamesake)).
		Watches(&discoveryv1.EndpointSlice{}, byLabel).
		Watches(&corev1.Pod{}, byLabel).
		Complete(r)
}

// ownerOrNamesake finds the resource of a child. An object that is not ours but has
// the name that a child needs counts too: when it goes, the child can come.
func (r *Reconciler) ownerOrNamesake(ctx context.Context, child client.Object) []reconcile.Request {
	names := []string{child.GetName()}
	for _, suffix := range []string{"-" + componentDiscovery, "-" + componentMetrics, nodeListSuffix} {
		if name, ok := strings.CutSuffix(child.GetName(), suffix); ok {
			names = append(names, name)
		}
	}
	if controller := metav1.GetControllerOfNoCopy(child); controller != nil && controller.Kind == ownerKind.Kind {
		names = []string{controller.Name}
	}
	var requests []reconcile.Request
	for _, name := range names {
		key := client.ObjectKey{Namespace: child.GetNamespace(), Name: name}
		// Not found: most objects of these kinds have nothing to do with us.
		if err := r.client.Get(ctx, key, &v1alpha1.Memcached{}); err == nil {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}

func resourceByLabel(_ context.Context, object client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{
		Namespace: object.GetNamespace(), Name: object.GetLabels()[labelResource],
	}}}
}

// Reconcile brings one resource closer to what its spec says, and tells how far it is.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &v1alpha1.Memcached{}
	if err := r.client.Get(ctx, req.NamespacedName, m); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	seen, err := r.observe(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := decide(m, seen, r.images)
	failed := r.checkSecrets(ctx, m, seen, &p)
	if failed == nil {
		failed = r.apply(ctx, m, seen, p)
	}
	if apply.IsHiccup(failed) {
		return ctrl.Result{}, failed
	}
	if failed == nil {
		r.tend(ctx, m, seen, &p)
	}
	s := status(m, seen, r.images, failed)
	gauge(m, wantedNodes(m, seen), s.ReadyNodes)
	later, err := r.writeStatus(ctx, m, s)
	return ctrl.Result{RequeueAfter: soonest(soonest(later, nextLook(m, seen)), secretRequeue(failed))}, errors.Join(apply.Retry(failed), seen.refused, err)
}

// forget drops what is remembered of a resource that is gone.
func (r *Reconciler) forget(key types.NamespacedName) {
	r.pace.Forget(key)
	forgetGauges(key)
}
