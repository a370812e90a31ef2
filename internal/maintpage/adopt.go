// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// What happens to an application that is adopted?
//
// Its Deployment and Service are never applied and get no owner: they are edited, and
// only while that is needed. The Service gets a label when the page is first published,
// and for as long as it is, another selector, with its own one in an annotation. A
// finalizer gives it back when the resource goes, or adopt becomes false: first the
// application is started if it was stopped, then the selector is set back, and when
// traffic is seen to have returned the label and the finalizer go, and the page with them.

// finalizer keeps a resource until the application that it adopted is given back.
const finalizer = "maintpage.example.com/restore"

// patience is how long an application that does not become ready keeps a resource from
// going. After it the Service gets its selector back all the same.
const patience = 2 * time.Minute

// borrows reports whether the application is not the resource's own.
func borrows(m *v1alpha1.MaintPage) bool {
	return m.Spec.Adopt || controllerutil.ContainsFinalizer(m, finalizer)
}

// releasing reports whether an adopted application is being given back.
func releasing(m *v1alpha1.MaintPage) bool {
	return controllerutil.ContainsFinalizer(m, finalizer) && (!m.DeletionTimestamp.IsZero() || !m.Spec.Adopt)
}

// gaveUp reports whether the application has had its time to become ready.
func gaveUp(m *v1alpha1.MaintPage, seen *observed) bool {
	begin := m.DeletionTimestamp
	if begin.IsZero() && len(m.Status.History) > 0 {
		if lastSide(m.Status.History) == pageSide {
			return false // the switch back has not begun
		}
		begin = &m.Status.History[0].StartTime
	}
	return begin.IsZero() || !seen.now.Before(begin.Add(patience))
}

// isReleased reports whether nothing is left of the adoption.
func isReleased(m *v1alpha1.MaintPage, seen *observed, history []v1alpha1.Switch) bool {
	if wasScaled(seen.deployment) && seen.deployment.DeletionTimestamp.IsZero() {
		return false
	}
	if seen.service == nil || !seen.service.DeletionTimestamp.IsZero() {
		return true // there is nothing to give back
	}
	current, known := currentSide(m, seen)
	return known && current == appSide &&
		(stageOf(m, history, seen) >= draining || gaveUp(m, seen) && !seen.leadsTo(pageSide))
}

// notAdoptable is why an application cannot be adopted, or nil.
func notAdoptable(m *v1alpha1.MaintPage, seen *observed) *cause {
	name := m.Spec.AppConfig.AppName
	switch {
	case seen.deployment == nil:
		return &cause{reasonAppMissing, fmt.Sprintf("Deployment %s, which is to be adopted, does not exist: create it, or set adopt to false", name)}
	case seen.service == nil:
		return &cause{reasonAppMissing, fmt.Sprintf("Service %s, which is to be adopted, does not exist: create it, or set adopt to false", name)}
	case len(seen.service.Spec.Selector) == 0 || seen.service.Spec.Type == corev1.ServiceTypeExternalName:
		return &cause{reasonNotAdoptable, fmt.Sprintf("Service %s has no selector, so its traffic cannot be switched", name)}
	case !matches(originalSelector(m, seen), seen.deployment):
		return &cause{reasonNotAdoptable, fmt.Sprintf("Service %s does not select the pods of Deployment %s: correct one of them", name, name)}
	case len(pagePorts(m, seen)) == 0:
		return &cause{reasonNotAdoptable, fmt.Sprintf("Service %s has no TCP port that the page could answer on", name)}
	default:
		return nil
	}
}

func matches(selector map[string]string, deployment *appsv1.Deployment) bool {
	return deployment != nil && labels.SelectorFromSet(selector).Matches(labels.Set(deployment.Spec.Template.Labels))
}

// originalSelector is the selector that an adopted Service gets back.
func originalSelector(m *v1alpha1.MaintPage, seen *observed) map[string]string {
	if seen.service == nil {
		return nil
	}
	var original map[string]string
	if json.Unmarshal([]byte(seen.service.Annotations[annotationSelector]), &original) == nil && len(original) > 0 {
		return original
	}
	if !maps.Equal(seen.service.Spec.Selector, pageSelector(m)) {
		return seen.service.Spec.Selector
	}
	// Somebody has removed the annotation; the Deployment knows its pods.
	if seen.deployment != nil && seen.deployment.Spec.Selector != nil {
		return seen.deployment.Spec.Selector.MatchLabels
	}
	return nil
}

// lead is the change that leads an adopted Service to a side.
func lead(m *v1alpha1.MaintPage, seen *observed, to side) func(*corev1.Service) {
	original := originalSelector(m, seen)
	if to == appSide {
		return func(s *corev1.Service) {
			if maps.Equal(s.Spec.Selector, pageSelector(m)) {
				s.Spec.Selector = original
			}
			delete(s.Annotations, annotationSelector)
		}
	}
	if _, known := currentSide(m, seen); !known && matches(seen.service.Spec.Selector, seen.deployment) {
		original = seen.service.Spec.Selector // the application was changed meanwhile
	}
	encoded, _ := json.Marshal(original) // a map of strings
	return func(s *corev1.Service) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, annotationSelector, string(encoded))
		metav1.SetMetaDataLabel(&s.ObjectMeta, labelResource, m.Name)
		s.Spec.Selector = pageSelector(m)
	}
}

// unmark removes what an adoption leaves in a Service.
func unmark(s *corev1.Service) {
	delete(s.Annotations, annotationSelector)
	delete(s.Labels, labelResource)
}

// pagePort is a port that the page answers on.
type pagePort struct {
	name   string // empty where the Service goes by the number
	number int32
}

// pagePorts are the ports that the Service sends traffic to. The page has to have
// them all, under the same names.
func pagePorts(m *v1alpha1.MaintPage, seen *observed) []pagePort {
	if !borrows(m) {
		return []pagePort{{number: port(m)}}
	}
	if seen.service == nil {
		return nil
	}
	var ports []pagePort
	numbered := map[int32]bool{} // a pod can have a number only once
	add := func(p pagePort) {
		if p.number != 0 && !numbered[p.number] {
			numbered[p.number] = true
			ports = append(ports, p)
		}
	}
	for _, p := range seen.service.Spec.Ports {
		if isTCP(p) && p.TargetPort.StrVal != "" && !slices.ContainsFunc(ports, func(known pagePort) bool { return known.name == p.TargetPort.StrVal }) {
			number := namedPort(seen.deployment, p.TargetPort.StrVal)
			for number != 0 && numbered[number] {
				number++ // what a name leads to is the page's own affair
			}
			add(pagePort{p.TargetPort.StrVal, number})
		}
	}
	for _, p := range seen.service.Spec.Ports {
		if isTCP(p) && p.TargetPort.StrVal == "" {
			add(pagePort{number: cmp.Or(p.TargetPort.IntVal, p.Port)})
		}
	}
	return ports
}

func isTCP(p corev1.ServicePort) bool { return p.Protocol == corev1.ProtocolTCP || p.Protocol == "" }

// namedPort is the number of a port of the application, or 0.
func namedPort(deployment *appsv1.Deployment, name string) int32 {
	if deployment == nil {
		return 0
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name == name {
				return p.ContainerPort
			}
		}
	}
	return 0
}
