// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

func annotated(selector string) func(*observed) {
	return func(seen *observed) {
		metav1.SetMetaDataAnnotation(&seen.service.ObjectMeta, annotationSelector, selector)
	}
}

func selectorIs(selector map[string]string) func(*observed) {
	return func(seen *observed) { seen.service.Spec.Selector = selector }
}

// given is an adopted application that is being given back because adopt became false
// or, with a time, because the resource is being deleted.
func given(deleted *time.Time) func(*v1alpha1.MaintPage) {
	return func(m *v1alpha1.MaintPage) {
		if deleted != nil {
			m.DeletionTimestamp = ptr.To(metav1.NewTime(*deleted))
			return
		}
		m.Spec.Adopt, m.Spec.AppConfig.AppImage = false, "shop:1"
	}
}

func TestOriginalSelector(t *testing.T) {
	m := sample(adopting)
	page := selectorIs(pageSelector(m))
	type labels = map[string]string
	tests := []struct {
		name string
		seen []func(*observed)
		want labels
	}{
		{"live", []func(*observed){selectorIs(labels{"a": "b"})}, labels{"a": "b"}},
		{"annotation", []func(*observed){page, annotated(`{"a":"b","c":"d"}`)}, labels{"a": "b", "c": "d"}},
		{"annotation before live", []func(*observed){selectorIs(labels{"x": "y"}), annotated(`{"a":"b"}`)}, labels{"a": "b"}},
		{"annotation lost", []func(*observed){page}, labels{"app": "httpd"}},
		{"annotation unreadable", []func(*observed){page, annotated(`{"a":`)}, labels{"app": "httpd"}},
		{"annotation of another kind", []func(*observed){page, annotated(`["a"]`)}, labels{"app": "httpd"}},
		{"annotation empty", []func(*observed){page, annotated(`{}`)}, labels{"app": "httpd"}},
		{"everything lost", []func(*observed){page, func(seen *observed) { seen.deployment = nil }}, nil},
		{"no Service", []func(*observed){func(seen *observed) { seen.service = nil }}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := originalSelector(m, world(m, test.seen...)); !maps.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestLead(t *testing.T) {
	m := sample(adopting)
	page := pageSelector(m)
	type labels = map[string]string
	published := []func(*observed){selectorIs(page), annotated(`{"app":"httpd"}`)}
	tests := []struct {
		name       string
		seen       []func(*observed)
		to         side
		selector   labels
		annotation string
	}{
		{"publish", nil, pageSide, page, `{"app":"httpd"}`},
		{"return", published, appSide, labels{"app": "httpd"}, ""},
		{"publish again", append(published, selectorIs(labels{"app": "httpd"})), pageSide, page, `{"app":"httpd"}`},
		{"changed by the user meanwhile", append(published, selectorIs(labels{"tier": "web"})), pageSide, page, `{"tier":"web"}`},
		{"changed to nonsense", append(published, selectorIs(labels{"x": "y"})), pageSide, page, `{"app":"httpd"}`},
		{"return of what the user has changed", append(published, selectorIs(labels{"tier": "web"})), appSide, labels{"tier": "web"}, ""},
		{"return without the annotation", []func(*observed){selectorIs(page)}, appSide, labels{"app": "httpd"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(m, test.seen...)
			change := lead(m, seen, test.to)
			change(seen.service)
			if got := seen.service.Annotations[annotationSelector]; got != test.annotation || !maps.Equal(seen.service.Spec.Selector, test.selector) {
				t.Errorf("%v %s, want %v %s", seen.service.Spec.Selector, got, test.selector, test.annotation)
			}
			// Without the label its EndpointSlices are not seen, and the switch never ends.
			if test.to == pageSide && seen.service.Labels[labelResource] != m.Name {
				t.Errorf("labels %v", seen.service.Labels)
			}
			if current, known := currentSide(m, seen); !known || current != test.to {
				t.Errorf("leads to the page: %v, known: %v", current, known)
			}
		})
	}
}

func TestPagePorts(t *testing.T) {
	m := sample(adopting)
	port := func(number int32, target intstr.IntOrString) corev1.ServicePort {
		return corev1.ServicePort{Port: number, TargetPort: target}
	}
	udp := port(53, intstr.FromInt32(53))
	udp.Protocol = corev1.ProtocolUDP
	tcp := port(81, intstr.FromInt32(8081))
	tcp.Protocol = corev1.ProtocolTCP
	tests := []struct {
		name  string
		ports []corev1.ServicePort
		want  []pagePort
	}{
		{"number", []corev1.ServicePort{port(80, intstr.FromInt32(8080))}, []pagePort{{"", 8080}}},
		{"none given", []corev1.ServicePort{port(80, intstr.IntOrString{})}, []pagePort{{"", 80}}},
		{"name", []corev1.ServicePort{port(80, intstr.FromString("web"))}, []pagePort{{"web", 8000}}},
		{"name of a second container", []corev1.ServicePort{port(80, intstr.FromString("side"))}, []pagePort{{"side", 8001}}},
		{"unknown name", []corev1.ServicePort{port(80, intstr.FromString("x")), tcp}, []pagePort{{"", 8081}}},
		{"UDP", []corev1.ServicePort{udp, tcp}, []pagePort{{"", 8081}}},
		{"only UDP", []corev1.ServicePort{udp}, nil},
		{"one target twice", []corev1.ServicePort{port(80, intstr.FromInt32(8080)), port(8080, intstr.FromInt32(8080))}, []pagePort{{"", 8080}}},
		{"one target by name and by number", []corev1.ServicePort{port(80, intstr.FromString("web")), port(8000, intstr.FromInt32(8000))}, []pagePort{{"web", 8000}}},
		{"one target by number and by name", []corev1.ServicePort{port(8000, intstr.FromInt32(8000)), port(80, intstr.FromString("web"))}, []pagePort{{"web", 8000}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(m, func(seen *observed) {
				seen.service.Spec.Ports = test.ports
				seen.deployment.Spec.Template.Spec.Containers = []corev1.Container{
					{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8000}}},
					{Ports: []corev1.ContainerPort{{Name: "side", ContainerPort: 8001}}},
				}
			})
			if got := pagePorts(m, seen); !reflect.DeepEqual(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	if got := pagePorts(sample(), &observed{}); !reflect.DeepEqual(got, []pagePort{{"", 8080}}) {
		t.Errorf("our own: %v", got)
	}
}

func TestNotAdoptable(t *testing.T) {
	m := sample(adopting)
	tests := []struct {
		name         string
		seen         func(*observed)
		reason, want string
	}{
		{"fine", func(*observed) {}, "", ""},
		{"fine while published", atPage(m), "", ""},
		{"no Deployment", func(seen *observed) { seen.deployment = nil }, "AppMissing", "Deployment httpd, which is to be adopted, does not exist: create it"},
		{"no Service", func(seen *observed) { seen.service = nil }, "AppMissing", "Service httpd, which is to be adopted, does not exist: create it"},
		{"no selector", selectorIs(nil), "NotAdoptable", "has no selector"},
		{"external name", func(seen *observed) { seen.service.Spec.Type = corev1.ServiceTypeExternalName }, "NotAdoptable", "has no selector"},
		{"other pods", selectorIs(map[string]string{"app": "x"}), "NotAdoptable", "does not select the pods of Deployment httpd: correct one of them"},
		{"UDP only", func(seen *observed) { seen.service.Spec.Ports[0].Protocol = corev1.ProtocolUDP }, "NotAdoptable", "has no TCP port"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(m, test.seen)
			got := notAdoptable(m, seen)
			if got == nil {
				got = &cause{}
			}
			if got.reason != test.reason || !strings.Contains(got.message, test.want) {
				t.Errorf("%+v", got)
			}
			p := decide(m, seen, demanded(m, seen), testImage)
			if refused := test.reason != ""; p.pod.Writes() == refused {
				t.Errorf("the page is written: %v", p.pod.Writes())
			}
		})
	}
}

// An application is given back in an order in which nobody meets an application that is
// not there, and however long it takes, it ends.
func TestRelease(t *testing.T) {
	began, longAgo := noon, noon.Add(-patience)
	hourAgo := publishedFor(v1alpha1.CauseToggle)
	returning := func(ago time.Duration) func(*v1alpha1.MaintPage) {
		return func(m *v1alpha1.MaintPage) {
			hourAgo(m)
			m.Status.History = append([]v1alpha1.Switch{{To: v1alpha1.StatusNotPublished, StartTime: metav1.NewTime(noon.Add(-ago))}}, m.Status.History...)
		}
	}
	moved := func(ago time.Duration) func(*v1alpha1.MaintPage) {
		return func(m *v1alpha1.MaintPage) {
			returning(time.Minute)(m)
			m.Status.History[0].TrafficMovedTime = metav1.NewTime(noon.Add(-ago))
		}
	}
	returned := func(seen *observed) {
		seen.service.Spec.Selector = map[string]string{"app": "httpd"}
		delete(seen.service.Annotations, annotationSelector)
		seen.endpoints = map[string]bool{"httpd-1": true}
	}
	gone := func(seen *observed) { seen.service = nil }
	type changes = []func(*observed)
	tests := []struct {
		name string
		m    *v1alpha1.MaintPage
		seen changes // beyond the page having the traffic
		// what is to be done: the application scaled, the Service changed, the finalizer removed
		want string
	}{
		{"not at all", sample(adopting, toggled, hourAgo), nil, "false false false"},
		{"deleted", sample(adopting, toggled, hourAgo, given(&began)), nil, "false true false"},
		{"no longer adopted", sample(adopting, hourAgo, given(nil)), nil, "false true false"},
		{"deleted, application not ready", sample(adopting, hourAgo, given(&began)), changes{appDown}, "false false false"},
		{"deleted long ago, application not ready", sample(adopting, hourAgo, given(&longAgo)), changes{appDown}, "false true false"},
		{"no longer adopted, application not ready", sample(adopting, hourAgo, given(nil)), changes{appDown}, "false false false"},
		{"no longer adopted for a while, application not ready", sample(adopting, returning(time.Minute), given(nil)), changes{appDown}, "false false false"},
		{"no longer adopted for long, application not ready", sample(adopting, returning(patience), given(nil)), changes{appDown}, "false true false"},
		{"deleted, application stopped", sample(adopting, scaling, hourAgo, given(&began)), changes{stopped}, "true false false"},
		{"no longer adopted, application stopped", sample(adopting, scaling, hourAgo, given(nil)), changes{stopped}, "true false false"},
		{"returned just now", sample(adopting, moved(time.Second), given(&began)), changes{returned}, "false false false"},
		{"returned and settled", sample(adopting, moved(settle), given(&began)), changes{returned}, "false true true"},
		{"returned, annotation left", sample(adopting, scaling, moved(settle), given(&began)), changes{returned, func(seen *observed) {
			seen.deployment.Annotations = map[string]string{annotationReplicas: "1"}
		}}, "true false false"},
		{"never published", sample(adopting, given(&began)), changes{returned}, "false true true"},
		{"Service gone", sample(adopting, hourAgo, given(&began)), changes{gone}, "false true true"},
		{"Service going", sample(adopting, hourAgo, given(&began)), changes{func(seen *observed) {
			seen.service.DeletionTimestamp = ptr.To(metav1.NewTime(noon))
		}}, "false true true"},
		{"Deployment gone, patience left", sample(adopting, hourAgo, given(&began)), changes{func(seen *observed) { seen.deployment = nil }}, "false false false"},
		{"Deployment gone", sample(adopting, hourAgo, given(&longAgo)), changes{func(seen *observed) { seen.deployment = nil }}, "false true false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, append(changes{atPage(test.m)}, test.seen...)...)
			p := decide(test.m, seen, demanded(test.m, seen), testImage)
			if got := fmt.Sprint(p.scale != nil, p.lead != nil, p.finalizer != nil); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			if p.service.Writes() || p.deployment.Writes() {
				t.Error("what is not ours must never be applied")
			}
			if p.finalizer != nil {
				// In a namespace that is being deleted every other write fails, and keeps the finalizer.
				if p.content.Writes() || p.pod.Writes() || p.pageDeployment.Writes() || p.budget.Writes() {
					t.Error("the page is written once more")
				}
				if p.finalizer(test.m); len(test.m.Finalizers) != 0 {
					t.Error(test.m.Finalizers)
				}
			}
			if look := nextLook(test.m, seen, demand{}, test.m.Status.History); p.finalizer == nil && releasing(test.m) && !gaveUp(test.m, seen) && look == 0 {
				t.Error("nothing wakes the operator")
			}
		})
	}
}

// The finalizer is there before anything is changed that has to be given back.
func TestFinalizerComesFirst(t *testing.T) {
	m := sample(adopting, toggled)
	m.Finalizers = nil
	seen := world(m)
	p := decide(m, seen, demanded(m, seen), testImage)
	if p.finalizer == nil || p.lead != nil {
		t.Errorf("finalizer %v, switch %v", p.finalizer != nil, p.lead != nil)
	}
	p.finalizer(m)
	p = decide(m, seen, demanded(m, seen), testImage)
	if p.finalizer != nil || p.lead == nil {
		t.Errorf("finalizer %v, switch %v", p.finalizer != nil, p.lead != nil)
	}
}
