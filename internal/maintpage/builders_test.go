// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/golden"
)

// everything sets every field that a builder reads.
func everything(m *v1alpha1.MaintPage) {
	builtInPage(m)
	m.Spec.AppConfig.Port = 9090
	m.Spec.AppConfig.Replicas = ptr.To[int32](3)
	m.Spec.Page = v1alpha1.Page{
		Title: "Back <soon>", Message: "Sorry.\nReally.", Contact: "help@example.com", HTML: "<p>x</p>", RetryAfterSeconds: 60,
		ExpectedEnd:  ptr.To(metav1.NewTime(noon.Add(time.Hour))),
		Translations: []v1alpha1.Translation{{Language: "nl", Title: "Zo terug", NotProcessed: "Niet ontvangen"}},
		Replicas:     3,
	}
}

// shop is an application with ports of its own.
func shop(seen *observed) {
	seen.deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "shop", Ports: []corev1.ContainerPort{
		{Name: "web", ContainerPort: 80}, {Name: "health", ContainerPort: 8081},
	}}}
	seen.service.Spec.Ports = []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromString("web")},
		{Name: "health", Port: 8081, TargetPort: intstr.FromString("health")},
		{Name: "https", Port: 443, TargetPort: intstr.FromInt32(8443)},
	}
}

func TestBuilders(t *testing.T) {
	for name, m := range map[string]*v1alpha1.MaintPage{
		"seed":       sample(),
		"built-in":   sample(builtInPage),
		"everything": sample(everything),
		"adopted":    sample(adopting, threePages),
	} {
		t.Run(name, func(t *testing.T) {
			seen := &observed{now: noon, deployment: &appsv1.Deployment{}}
			if m.Spec.Adopt {
				seen = world(m, shop)
			}
			d := demand{calendar: calendar{active: &v1alpha1.WindowOccurrence{Start: metav1.NewTime(noon), End: metav1.NewTime(noon.Add(time.Hour))}}}
			ports := pagePorts(m, seen)
			golden.YAML(t, "pod-"+name, pod(m, testImage, ports, "hash"))
			if builtIn(m) {
				golden.YAML(t, "configmap-"+name, content(m, seen, d))
			}
			if m.Spec.Page.Replicas > 1 {
				golden.YAML(t, "page-deployment-"+name, pageDeployment(m, testImage, ports, m.Spec.Page.Replicas))
				golden.YAML(t, "poddisruptionbudget-"+name, podDisruptionBudget(m))
			} else if podDisruptionBudget(m) != nil {
				t.Error("a budget for a single pod blocks every drain of its node")
			}
			if !m.Spec.Adopt {
				golden.YAML(t, "deployment-"+name, deployment(m, seen))
				golden.YAML(t, "service-"+name, service(m, &observed{}, appSide))
				golden.YAML(t, "service-published-"+name, service(m, &observed{}, pageSide))
			}
		})
	}
}

// Selectors are immutable, so nothing but names may decide about them.
func TestSelectorsDependOnNamesOnly(t *testing.T) {
	a, b := sample(), sample(everything)
	golden.YAML(t, "selectors", deployment(a, &observed{}).Spec.Selector)
	golden.YAML(t, "selectors", deployment(b, &observed{}).Spec.Selector)
	golden.YAML(t, "page-selectors", pageDeployment(a, "a:1", []pagePort{{number: 1}}, 1).Spec.Selector)
	golden.YAML(t, "page-selectors", pageDeployment(b, "b:2", []pagePort{{number: 2}}, 3).Spec.Selector)
}

// A change of the selector is decided by looking at one version of the Service.
func TestServiceChangeHasAPrecondition(t *testing.T) {
	m := sample()
	for _, test := range []struct {
		name string
		seen *observed
		to   side
		want string
	}{
		{"new", &observed{}, pageSide, ""},
		{"nothing to change", world(m), appSide, ""},
		{"switch", world(m), pageSide, "7"},
		{"changed by hand", world(m, func(seen *observed) { seen.service.Spec.Selector = map[string]string{"x": "y"} }), appSide, "7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := ptr.Deref(service(m, test.seen, test.to).ResourceVersion, ""); got != test.want {
				t.Errorf("resourceVersion %q, want %q", got, test.want)
			}
		})
	}
}

func TestReplicasAreLeftAlone(t *testing.T) {
	if got := deployment(sample(), world(sample())).Spec.Replicas; got != nil {
		t.Errorf("%d replicas without a number", *got)
	}
	m := sample(everything)
	if got := deployment(m, world(m, stopped)).Spec.Replicas; got != nil {
		t.Errorf("%d replicas while the application is stopped", *got)
	}
	if got := deployment(m, world(m)).Spec.Replicas; got == nil || *got != 3 {
		t.Errorf("%v replicas, want 3", got)
	}
}

// The page listens where the application does; its health is told where visitors
// cannot ask, whichever ports those are.
func TestHealthPort(t *testing.T) {
	for _, test := range []struct {
		ports []pagePort
		want  int32
	}{
		{nil, 8081},
		{[]pagePort{{number: 8080}}, 8081},
		{[]pagePort{{number: 8082}, {number: 8081}, {name: "x", number: 8083}}, 8084},
	} {
		if got := healthPort(test.ports); got != test.want {
			t.Errorf("%v: %d, want %d", test.ports, got, test.want)
		}
	}
}

// One template, one hash: a pod is replaced if and only if its template has changed.
func TestTemplateHash(t *testing.T) {
	ports := []pagePort{{number: 8080}}
	hash := func(m *v1alpha1.MaintPage, image, content string) string {
		return pod(m, image, ports, content).Annotations[annotationTemplate]
	}
	same := hash(sample(builtInPage), "a:1", "x")
	if got := hash(sample(builtInPage, threePages, toggled), "a:1", "y"); got != same {
		t.Error("content, toggle and replicas need no other pod")
	}
	different := []string{
		same, hash(sample(builtInPage), "a:2", "x"), hash(sample(), "a:1", "x"),
		pod(sample(builtInPage), "a:1", []pagePort{{number: 80}}, "x").Annotations[annotationTemplate],
	}
	slices.Sort(different)
	if len(slices.Compact(different)) != 4 {
		t.Errorf("%q", different)
	}
}
