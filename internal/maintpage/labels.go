// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"maps"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

const (
	// labelApp tells the two sides apart: the Service selects by it.
	labelApp = "app"

	// labelResource is on Services, ours and adopted ones, and holds the name of the
	// resource. Kubernetes copies it to their EndpointSlices, of which the operator
	// watches only those that have it.
	labelResource = "maintpage.example.com/name"

	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"

	componentApp  = "app"
	componentPage = "maintpage"
)

// Annotations.
const (
	// annotationSelector is on an adopted Service while it leads to the page, and
	// holds the selector that it gets back.
	annotationSelector = "maintpage.example.com/original-selector"
	// annotationReplicas is on a Deployment that is scaled to zero, and holds the
	// number of pods that it gets back.
	annotationReplicas = "maintpage.example.com/original-replicas"
	// annotationTemplate is on the page's pod, and tells one that was made from
	// another template than today's.
	annotationTemplate = "maintpage.example.com/template"
	// annotationContent is on the page's pods. A change of it makes the kubelet look
	// at their ConfigMap at once instead of within two minutes.
	annotationContent = "maintpage.example.com/content"
	// annotationSource is on the page's ConfigMap, and tells which version of the
	// user's ConfigMap was copied to it.
	annotationSource = "maintpage.example.com/source"
)

var (
	// managedPods selects the pods of all pages, and of all applications that the
	// operator runs.
	managedPods = labels.SelectorFromSet(labels.Set{labelManagedBy: Name})

	// labeledSlices selects the EndpointSlices of all Services that it switches.
	labeledSlices = func() labels.Selector {
		exists, err := labels.NewRequirement(labelResource, selection.Exists, nil)
		utilruntime.Must(err)
		return labels.NewSelector().Add(*exists)
	}()
)

// side is one of the two places that traffic can go to.
type side bool

const (
	appSide  side = false
	pageSide side = true
)

// publishStatus is what the status says of a side that has the traffic.
func (s side) publishStatus() v1alpha1.MaintPublishStatus {
	if s == pageSide {
		return v1alpha1.StatusPublished
	}
	return v1alpha1.StatusNotPublished
}

func sideOf(status v1alpha1.MaintPublishStatus) side {
	return status == v1alpha1.StatusPublished
}

// labelOf is the value of the label app of a side's pods.
func labelOf(m *v1alpha1.MaintPage, s side) string {
	if s == pageSide {
		return m.Name
	}
	return m.Spec.AppConfig.AppName
}

// selectorLabels select the pods of a side. They are immutable in a Deployment.
func selectorLabels(m *v1alpha1.MaintPage, s side) map[string]string {
	return map[string]string{labelApp: labelOf(m, s)}
}

// childLabels are on everything that belongs to a side.
func childLabels(m *v1alpha1.MaintPage, s side) map[string]string {
	component := componentApp
	if s == pageSide {
		component = componentPage
	}
	return map[string]string{
		labelApp:                 labelOf(m, s),
		"app.kubernetes.io/name": labelOf(m, s),
		labelInstance:            m.Name,
		labelComponent:           component,
		labelManagedBy:           Name,
	}
}

// pageLabels are on every object that serves the page; the page's Deployment selects
// by them, and the name alone would also select pods of others.
func pageLabels(m *v1alpha1.MaintPage) map[string]string {
	return map[string]string{labelApp: m.Name, labelComponent: componentPage, labelManagedBy: Name}
}

// serviceLabels are on the Service.
func serviceLabels(m *v1alpha1.MaintPage) map[string]string {
	all := maps.Clone(childLabels(m, appSide))
	all[labelResource] = m.Name
	return all
}
