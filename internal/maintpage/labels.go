// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"k8s.io/apimachinery/pkg/labels"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

const (
	// labelApp tells the two sides apart: the Service selects by it.
	labelApp = "app"

	labelComponent = "app.kubernetes.io/component"
	labelManagedBy = "app.kubernetes.io/managed-by"

	componentApp  = "app"
	componentPage = "maintpage"
)

// pagePods selects the pods of all maintenance pages.
var pagePods = labels.SelectorFromSet(labels.Set{labelManagedBy: Name, labelComponent: componentPage})

// side is one of the two places that traffic can go to.
type side bool

const (
	appSide  side = false
	pageSide side = true
)

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
		labelApp:                     labelOf(m, s),
		"app.kubernetes.io/name":     labelOf(m, s),
		"app.kubernetes.io/instance": m.Name,
		labelComponent:               component,
		labelManagedBy:               Name,
	}
}
