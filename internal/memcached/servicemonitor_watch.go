// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// serviceMonitorCRD is the definition of ServiceMonitors, by its name.
const serviceMonitorCRD = "servicemonitors.monitoring.coreos.com"

// notServed is how long to wait for the API server to serve a definition that is there.
const notServed = 500 * time.Millisecond

// serviceMonitors follows whether the cluster knows ServiceMonitors, and watches them
// as long as it does. A watch of a kind that does not exist is never synced, and would
// keep the operator from becoming ready.
//
// The watch of the definition is not one of the controller's either: an operator that
// has rights in some namespaces only may not have it, and runs all the same.
type serviceMonitors struct {
	cache    cache.Cache
	mapper   meta.RESTMapper
	metadata metadata.Interface
	known    atomic.Bool
	changed  chan event.GenericEvent
}

func newServiceMonitors(mgr ctrl.Manager) (*serviceMonitors, error) {
	c, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return &serviceMonitors{cache: mgr.GetCache(), mapper: mgr.GetRESTMapper(), metadata: c, changed: make(chan event.GenericEvent)}, nil
}

// NeedLeaderElection is false: replicas that wait keep their caches warm.
func (*serviceMonitors) NeedLeaderElection() bool { return false }

// Start follows the definition until the context ends.
func (s *serviceMonitors) Start(ctx context.Context) error {
	informer := metadatainformer.NewFilteredMetadataInformer(s.metadata,
		apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"), metav1.NamespaceAll, 0, toolscache.Indexers{},
		func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, serviceMonitorCRD).String()
		}).Informer()
	look := make(chan struct{}, 1)
	poke := func() {
		select {
		case look <- struct{}{}:
		default: // it is going to look anyway
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	}); err != nil {
		return err
	}
	go informer.RunWithContext(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look:
		}
		if err := s.follow(ctx, isDefined(informer.GetStore())); err != nil {
			if !meta.IsNoMatchError(err) {
				log.FromContext(ctx).Error(err, "Cannot watch ServiceMonitors")
			}
			time.AfterFunc(notServed, poke)
		}
	}
}

func isDefined(store toolscache.Store) bool {
	for _, found := range store.List() {
		if definition, ok := found.(metav1.Object); ok && definition.GetDeletionTimestamp().IsZero() {
			return true
		}
	}
	return false
}

// follow starts or ends the watch of ServiceMonitors.
func (s *serviceMonitors) follow(ctx context.Context, defined bool) error {
	switch {
	case defined == s.known.Load():
		return nil
	case !defined:
		s.known.Store(false)
		if err := s.cache.RemoveInformer(ctx, &monitoringv1.ServiceMonitor{}); err != nil {
			return err
		}
		return s.tellAll(ctx)
	}
	// The definition comes before the API server serves what it defines.
	if _, err := s.mapper.RESTMapping(serviceMonitorKind.GroupKind(), serviceMonitorKind.Version); err != nil {
		return err
	}
	informer, err := s.cache.GetInformer(ctx, &monitoringv1.ServiceMonitor{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.tell(ctx, object) },
		UpdateFunc: func(_, object any) { s.tell(ctx, object) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			s.tell(ctx, object)
		},
	}); err != nil {
		return err
	}
	s.known.Store(true)
	return s.tellAll(ctx)
}

// tellAll makes the resources be looked at that ask for a ServiceMonitor.
func (s *serviceMonitors) tellAll(ctx context.Context) error {
	all := &v1alpha1.MemcachedList{}
	if err := s.cache.List(ctx, all); err != nil {
		return err
	}
	for i := range all.Items {
		if wantsServiceMonitor(&all.Items[i]) {
			s.tell(ctx, &all.Items[i])
		}
	}
	return nil
}

func (s *serviceMonitors) tell(ctx context.Context, object any) {
	if object, ok := object.(client.Object); ok {
		select {
		case s.changed <- event.GenericEvent{Object: object}:
		case <-ctx.Done():
		}
	}
}

// read reads a ServiceMonitor, and whether the cluster knows any. It goes past the
// client, which waits for the cache to see what was written: the cache may be another
// one by then, and it would wait in vain.
func (s *serviceMonitors) read(ctx context.Context, key client.ObjectKey, seen *observed) error {
	seen.serviceMonitorsKnown = s.known.Load()
	if !seen.serviceMonitorsKnown {
		return nil
	}
	err := apply.Read(ctx, s.cache, key, &seen.serviceMonitor)
	var gone *cache.ErrResourceNotCached
	if errors.As(err, &gone) {
		seen.serviceMonitorsKnown = false // the definition has been deleted just now
		return nil
	}
	return err
}
