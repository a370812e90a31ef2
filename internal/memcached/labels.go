// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// labelResource holds the name of the Memcached that an object belongs to.
const labelResource = "memcached_cr"

// labeled selects what belongs to any Memcached resource.
var labeled = func() labels.Selector {
	exists, err := labels.NewRequirement(labelResource, selection.Exists, nil)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}()

// Components beside the nodes, and the ends of their names.
const (
	componentDiscovery = "discovery"
	componentMetrics   = "metrics"
	nodeListSuffix     = "-nodes"
)

// selectorLabels select the pods of one Memcached. They are immutable in a
// Deployment, so they must never depend on anything but the resource's name.
func selectorLabels(m *v1alpha1.Memcached) map[string]string {
	return map[string]string{"app": "memcached", labelResource: m.Name}
}

// childLabels are on everything that belongs to one Memcached.
func childLabels(m *v1alpha1.Memcached) map[string]string {
	all := selectorLabels(m)
	maps.Copy(all, map[string]string{
		"app.kubernetes.io/name":       "memcached",
		"app.kubernetes.io/instance":   m.Name,
		"app.kubernetes.io/component":  "cache",
		"app.kubernetes.io/managed-by": Name,
	})
	return all
}

// companionSelector selects the pods of a companion, which must not be taken for nodes.
func companionSelector(m *v1alpha1.Memcached, component string) map[string]string {
	return map[string]string{"app": "memcached-" + component, labelResource: m.Name}
}

// companionLabels are on everything of a companion.
func companionLabels(m *v1alpha1.Memcached, component string) map[string]string {
	all := childLabels(m)
	maps.Copy(all, companionSelector(m, component))
	all["app.kubernetes.io/component"] = component
	return all
}

// podLabels are those and the user's, which cannot replace ours.
func podLabels(m *v1alpha1.Memcached) map[string]string {
	all := maps.Clone(m.Spec.PodMetadata.Labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, childLabels(m))
	return all
}
