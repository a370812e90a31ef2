// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

const (
	pagePodWrite    = "PATCH pods/example-maintpage-pod"
	deploymentWrite = "PATCH deployments/httpd"
	serviceWrite    = "PATCH services/httpd"
	statusWrite     = "PATCH maintpages/example/status"
	resourceWrite   = "PATCH maintpages/example"
	contentWrite    = "PATCH configmaps/example-maintpage"
)

var (
	toApp  = map[string]string{"app": "httpd"}
	toPage = map[string]string{"app": "example"}
)

func TestPublishAndReturn(t *testing.T) {
	f := newFixture(t)
	m := f.create("example")
	f.eventuallyStage("AppNotReady")
	f.expectWrites("create", pagePodWrite, deploymentWrite, serviceWrite, statusWrite)

	pod, d, s := read(f, "example-maintpage-pod", &corev1.Pod{}), read(f, "httpd", &appsv1.Deployment{}), read(f, "httpd", &corev1.Service{})
	if !metav1.IsControlledBy(pod, m) || !metav1.IsControlledBy(d, m) || !metav1.IsControlledBy(s, m) {
		t.Error("children without an owner reference")
	}
	if pod.Labels["app"] != "example" || pod.Spec.Containers[0].Name != "maintpage" ||
		d.Spec.Template.Spec.Containers[0].Name != "httpd" || s.Spec.Ports[0].Name != "8080-tcp" || s.Spec.Ports[0].Port != 8080 {
		t.Errorf("%v\n%v\n%v", pod, d, s)
	}
	f.expectSelector(toApp)
	f.setApp(1)
	f.route("httpd-1")
	f.eventuallySwitched("NotPublished")
	f.operator.Settle(t)
	f.operator.Reset()

	// Never to a page that is not ready.
	f.toggle(true)
	f.eventuallyStage("PageNotReady")
	f.expectWrites("page not ready", statusWrite)
	f.expectSelector(toApp)
	f.setReady("example-maintpage-pod")
	f.eventuallyStage("Moving")
	f.expectWrites("moving", serviceWrite, statusWrite)
	f.expectSelector(toPage)
	f.route("example-maintpage-pod")
	if m := f.eventuallyStage("Settling"); m.Status.MaintPublishStatus != v1alpha1.StatusNotPublished {
		t.Errorf("%+v", m.Status)
	}
	f.expectWrites("settling", statusWrite)
	f.forward(settle)
	if m := f.eventuallyStage("Draining"); m.Status.MaintPublishStatus != v1alpha1.StatusPublished || m.Status.Cause != v1alpha1.CauseToggle {
		t.Errorf("%+v", m.Status)
	}
	f.expectWrites("draining", statusWrite)
	f.forward(time.Minute)
	m = f.eventuallySwitched("Published")
	f.expectWrites("published", statusWrite)
	if h := m.Status.History; len(h) != 1 || h[0].CompletionTime.IsZero() || !strings.Contains(h[0].Message, "set by ") {
		t.Errorf("%+v", h)
	}
	if got := gauges(t, client.ObjectKeyFromObject(m)); got != "published 1, switching 0" {
		t.Error(got)
	}

	// Nor back to an application that is not ready.
	f.setApp(0)
	f.toggle(false)
	f.eventuallyStage("AppNotReady")
	f.expectSelector(toPage)
	f.operator.Settle(t)
	f.operator.Reset()
	f.setApp(1)
	f.eventuallyStage("Moving")
	f.expectWrites("moving back", serviceWrite, statusWrite)
	f.expectSelector(toApp)
	f.route("httpd-1")
	f.eventuallyStage("Settling")
	f.forward(time.Minute)
	m = f.eventuallySwitched("NotPublished")
	if m.Status.MaintPublishStatus != v1alpha1.StatusNotPublished || m.Status.Cause != "" || len(m.Status.History) != 2 {
		t.Errorf("%+v", m.Status)
	}
	f.operator.Settle(t)
	f.must(f.Delete(f.ctx, m))
	f.operator.Settle(t)
	if got := gauges(t, client.ObjectKeyFromObject(m)); got != "" {
		t.Errorf("metrics of a resource that is gone: %s", got)
	}
}

func TestRestartWritesNothing(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.MaintPage){
		"user's image": func(*v1alpha1.MaintPage) {},
		"built-in":     builtInPage,
		"everything": func(m *v1alpha1.MaintPage) {
			everything(m)
			m.Spec.Page.Replicas = 1
			open(m)
			covering(m)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.settled(change, func(m *v1alpha1.MaintPage) { m.Spec.Schedule = nil })
			f.restart()
			f.operator.Settle(t)
			if reads := f.operator.Reads(); len(reads) != 0 {
				t.Errorf("read past the cache: %q", reads)
			}
			f.expectWrites("restart")
			f.publish()
			f.operator.Settle(t)
			f.restart()
			f.expectWrites("restart while published")
		})
	}
}

func TestDriftIsRepairedByOneWrite(t *testing.T) {
	f := newFixture(t)
	f.settled()
	d := read(f, "httpd", &appsv1.Deployment{})
	d.Spec.Template.Spec.Containers[0].Image = "prodpage:notfound"
	f.must(f.Update(f.ctx, d))
	f.expectWrites("image", deploymentWrite)
	if got := read(f, "httpd", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image; got != "prodpage:1" {
		t.Error(got)
	}
	f.setApp(1)
	f.operator.Settle(t)
	f.operator.Reset()
	f.patch(&corev1.Service{}, "httpd", `{"spec":{"selector":{"app":"hand","more":"x"}}}`)
	f.expectWrites("selector", serviceWrite)
	f.expectSelector(toApp)

	// The label by which the operator finds its pods: without it the pod is not in the cache.
	f.patch(&corev1.Pod{}, "example-maintpage-pod", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	f.expectWrites("pod label", pagePodWrite)
	f.patch(&corev1.Pod{}, "example-maintpage-pod", `{"metadata":{"labels":{"app":"hand"}}}`)
	f.expectWrites("other pod label", pagePodWrite)

	// Replicas are not the operator's unless the resource says so.
	f.patch(&appsv1.Deployment{}, "httpd", `{"spec":{"replicas":4}}`)
	f.expectWrites("replicas")
}

// Somebody who does not stop is left alone, told about, and tried again.
func TestContest(t *testing.T) {
	f := newFixture(t)
	f.settled()
	for i := range contestLimit + 1 {
		f.patch(&corev1.Service{}, "httpd", fmt.Sprintf(`{"spec":{"selector":{"app":"hand-%d"}}}`, i))
		f.operator.Settle(t)
	}
	m := f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "SelectorContested")
	f.expectWrites("contest", serviceWrite, serviceWrite, serviceWrite, statusWrite)
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionDegraded); !strings.Contains(c.Message, "keeps changing the selector of Service httpd") {
		t.Error(c.Message)
	}
	f.expectSelector(map[string]string{"app": "hand-3"})
	f.forward(firstTruce)
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	f.expectSelector(toApp)
	f.expectWrites("the truce is over", serviceWrite, statusWrite)
}

func TestChangedPageImage(t *testing.T) {
	f := newFixture(t)
	f.settled()
	before := read(f, "example-maintpage-pod", &corev1.Pod{})
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"maintpageconfig":{"maintpageimage":"maintpage:2"}}}`)
	f.operator.Settle(t)
	after := read(f, "example-maintpage-pod", &corev1.Pod{})
	if after.UID == before.UID || after.Spec.Containers[0].Image != "maintpage:2" {
		t.Errorf("%v", after.Spec.Containers)
	}

	// While it has the traffic, another one stands in first.
	f.setReady("example-maintpage-pod")
	f.publish()
	f.operator.Settle(t)
	f.operator.Reset()
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"maintpageconfig":{"maintpageimage":"maintpage:3"}}}`)
	f.operator.Settle(t)
	if got := read(f, "example-maintpage-pod", &corev1.Pod{}); got.UID != after.UID {
		t.Error("visitors have lost the page")
	}
	if got := read(f, "example-maintpage", &appsv1.Deployment{}); *got.Spec.Replicas != 1 || got.Spec.Template.Spec.Containers[0].Image != "maintpage:3" {
		t.Errorf("%+v", got.Spec)
	}
}

func TestEndedPageIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.settled()
	pod := read(f, "example-maintpage-pod", &corev1.Pod{})
	pod.Status.Phase = corev1.PodFailed
	f.must(f.Status().Update(f.ctx, pod))
	f.operator.Settle(t)
	if after := read(f, "example-maintpage-pod", &corev1.Pod{}); after.UID == pod.UID {
		t.Error("a pod that has ended was kept")
	}
}

func TestSeveralPages(t *testing.T) {
	f := newFixture(t)
	f.settled(builtInPage)
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"page":{"replicas":3}}}`)
	f.expectWrites("three", "PATCH deployments/example-maintpage", "PATCH poddisruptionbudgets/example-maintpage", statusWrite)
	d := read(f, "example-maintpage", &appsv1.Deployment{})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "example-maintpage-x", Labels: d.Spec.Template.Labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "maintpage", Image: testImage}}},
	}
	f.must(f.Create(f.ctx, pod))
	f.expectWrites("content of a deployed pod", "PATCH pods/example-maintpage-x")
	f.setReady(pod.Name)
	d.Status = deploymentStatus(3)
	f.must(f.Status().Update(f.ctx, d))
	f.expectWrites("all are up", "DELETE pods/example-maintpage-pod")
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"page":{"title":"Soon"}}}`)
	f.expectWrites("content", contentWrite, "PATCH pods/example-maintpage-x", statusWrite)
	f.restart()
	f.expectWrites("restart")

	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"page":{"replicas":1}}}`)
	f.expectWrites("one", pagePodWrite, "PATCH deployments/example-maintpage", "DELETE poddisruptionbudgets/example-maintpage", statusWrite)
	f.setReady("example-maintpage-pod")
	f.operator.Settle(t)
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(d), d); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment is still there: %v", err)
	}
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(d), &policyv1.PodDisruptionBudget{}); !apierrors.IsNotFound(err) {
		t.Errorf("the budget is still there: %v", err)
	}
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	f := newFixture(t)
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "httpd"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "foreign"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "example-maintpage-pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "maintpage", Image: "foreign"}}},
	}
	f.must(f.Create(f.ctx, s))
	f.must(f.Create(f.ctx, pod))
	f.create("example", toggled)
	m := f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	f.expectWrites("refused", deploymentWrite, statusWrite)
	if read(f, "httpd", &corev1.Service{}).ResourceVersion != s.ResourceVersion ||
		read(f, "example-maintpage-pod", &corev1.Pod{}).ResourceVersion != pod.ResourceVersion {
		t.Error("a foreign object was written")
	}
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionDegraded)
	for _, want := range []string{"Service " + f.namespace + "/httpd already exists and was not created by this operator", "set adopt to true"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("%q does not say %q", c.Message, want)
		}
	}
	if m.Status.MaintPublishStatus != v1alpha1.StatusNotPublished || len(m.Status.History) != 0 {
		t.Errorf("%+v", m.Status)
	}

	f.must(f.Delete(f.ctx, s))
	f.expectWrites("Service gone", serviceWrite, statusWrite)
}

// The second claim on an application is refused, and takes over when the first ends.
func TestTwoClaims(t *testing.T) {
	f := newFixture(t)
	first := f.create("first")
	f.eventually("first", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	f.operator.Settle(t)
	f.operator.Reset()
	f.create("second", toggled)
	m := f.eventually("second", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "AppClaimed")
	f.expectWrites("refused", "PATCH maintpages/second/status")
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionDegraded); !strings.Contains(c.Message, "MaintPage first") {
		t.Error(c.Message)
	}
	f.patch(&v1alpha1.MaintPage{}, "first", `{"metadata":{"annotations":{"x":"y"}}}`)
	f.patch(&v1alpha1.MaintPage{}, "second", `{"metadata":{"annotations":{"x":"y"}}}`)
	f.expectWrites("no fight")

	// What the garbage collector would do.
	f.must(f.Delete(f.ctx, first))
	for _, child := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		f.must(f.Delete(f.ctx, read(f, "httpd", child)))
	}
	f.eventually("second", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	if d := read(f, "httpd", &appsv1.Deployment{}); !metav1.IsControlledBy(d, m) {
		t.Error("the application was not taken over")
	}
}

func TestScaleToZero(t *testing.T) {
	f := newFixture(t)
	expect := func(replicas int32, annotation string) {
		t.Helper()
		d := read(f, "httpd", &appsv1.Deployment{})
		if *d.Spec.Replicas != replicas || d.Annotations[annotationReplicas] != annotation {
			t.Errorf("%d pods, %v", *d.Spec.Replicas, d.Annotations)
		}
	}
	f.settled(scaling, func(m *v1alpha1.MaintPage) { m.Spec.AppConfig.Replicas = ptr.To[int32](3) })
	f.toggle(true)
	f.eventuallyStage("Moving")
	f.route("example-maintpage-pod")
	f.eventuallyStage("Settling")
	f.forward(settle)
	f.eventuallyStage("Draining")
	expect(3, "")
	f.operator.Settle(t)
	f.operator.Reset()
	f.forward(time.Minute)
	f.eventuallySwitched("Published")
	f.expectWrites("stop", deploymentWrite, statusWrite)
	expect(0, "3")
	f.setApp(0)
	f.restart()
	f.expectWrites("restart")
	expect(0, "3")

	f.patch(&appsv1.Deployment{}, "httpd", `{"spec":{"replicas":1}}`)
	f.expectWrites("started by hand", deploymentWrite)
	expect(0, "3")

	f.setApp(0)
	f.toggle(false)
	f.eventuallyStage("AppNotReady")
	f.expectWrites("start", deploymentWrite, statusWrite)
	expect(3, "3")
	f.setApp(3)
	f.eventuallyStage("Moving")
	expect(3, "3")
	f.route("httpd-1")
	f.eventuallyStage("Settling")
	f.forward(time.Minute)
	f.eventuallySwitched("NotPublished")
	f.operator.Settle(t)
	expect(3, "")
	f.operator.Reset()
	f.restart()
	f.expectWrites("restart after it")
	f.patch(&appsv1.Deployment{}, "httpd", `{"spec":{"replicas":7}}`)
	f.expectWrites("replicas are the operator's again", deploymentWrite)
}

func TestAdoption(t *testing.T) {
	f := newFixture(t)
	f.createApp()
	original := map[string]string{"shop": "web"}
	d := read(f, "httpd", &appsv1.Deployment{})
	s := read(f, "httpd", &corev1.Service{})
	m := f.create("example", adopting)
	f.eventuallySwitched("NotPublished")
	f.expectWrites("adopt", resourceWrite, pagePodWrite, contentWrite, statusWrite)
	if got := read(f, "httpd", &corev1.Service{}); got.ResourceVersion != s.ResourceVersion {
		t.Error("the Service was written before that was needed")
	}
	if pod := read(f, "example-maintpage-pod", &corev1.Pod{}); pod.Spec.Containers[0].Ports[0].Name != "web" || pod.Spec.Containers[0].Ports[0].ContainerPort != 8080 {
		t.Errorf("%+v", pod.Spec.Containers[0].Ports)
	}
	f.setReady("example-maintpage-pod")
	f.operator.Settle(t)
	f.operator.Reset()

	f.toggle(true)
	f.eventuallyStage("Moving")
	f.expectWrites("publish", serviceWrite, statusWrite)
	published := read(f, "httpd", &corev1.Service{})
	if published.Annotations[annotationSelector] != `{"shop":"web"}` || published.Annotations["team"] != "shop" || published.OwnerReferences != nil {
		t.Errorf("%+v", published.ObjectMeta)
	}
	f.expectSelector(pageSelector(m))
	f.route("example-maintpage-pod")
	f.eventuallyStage("Settling")
	f.forward(time.Minute)
	f.eventuallySwitched("Published")
	f.operator.Settle(t)
	f.restart()
	f.expectWrites("restart")

	f.must(f.Delete(f.ctx, m))
	f.eventuallyStage("Moving")
	f.expectSelector(original)
	f.operator.Settle(t)
	read(f, "example-maintpage-pod", &corev1.Pod{}) // visitors may still be there
	f.route("shop-1")
	f.eventuallyStage("Settling")
	f.operator.Settle(t)
	f.operator.Reset()
	f.forward(settle)
	f.operator.Settle(t)
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("the resource is still there: %v", err)
	}
	restored := read(f, "httpd", &corev1.Service{})
	restored.ResourceVersion, restored.ManagedFields = s.ResourceVersion, s.ManagedFields
	if len(restored.Labels) == 0 {
		restored.Labels = nil
	}
	if fmt.Sprint(restored) != fmt.Sprint(s) {
		t.Errorf("given back:\n%+v\nwas:\n%+v", restored, s)
	}
	if after := read(f, "httpd", &appsv1.Deployment{}); after.ResourceVersion != d.ResourceVersion {
		t.Error("the Deployment was written")
	}
}

// A Service may lead to the same port by its name and by its number.
func TestAdoptionOfPorts(t *testing.T) {
	f := newFixture(t)
	f.createApp(
		corev1.ServicePort{Name: "a", Port: 80, TargetPort: intstr.FromString("web")},
		corev1.ServicePort{Name: "b", Port: 8080, TargetPort: intstr.FromInt32(8080)},
		corev1.ServicePort{Name: "c", Port: 53, Protocol: corev1.ProtocolUDP},
	)
	f.create("example", adopting)
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	if ports := read(f, "example-maintpage-pod", &corev1.Pod{}).Spec.Containers[0].Ports; len(ports) != 1 || ports[0].Name != "web" {
		t.Errorf("%+v", ports)
	}
}

// Nothing is left to give back, so nothing keeps the resource.
func TestFinalizerDoesNotBlock(t *testing.T) {
	for name, remove := range map[string]func(*fixture){
		"Service": func(f *fixture) { f.must(f.Delete(f.ctx, read(f, "httpd", &corev1.Service{}))) },
		"both": func(f *fixture) {
			f.must(f.Delete(f.ctx, read(f, "httpd", &corev1.Service{})))
			f.must(f.Delete(f.ctx, read(f, "httpd", &appsv1.Deployment{})))
		},
	} {
		t.Run(name+" gone", func(t *testing.T) {
			f := newFixture(t)
			f.createApp()
			m := f.create("example", adopting)
			f.eventuallySwitched("NotPublished")
			f.setReady("example-maintpage-pod")
			f.publish()
			f.operator.Settle(t)
			remove(f)
			f.must(f.Delete(f.ctx, m))
			f.operator.Settle(t)
			if err := f.Get(f.ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
				t.Errorf("the resource is still there: %+v", m)
			}
		})
	}
}

func TestUsersConfigMap(t *testing.T) {
	f := newFixture(t)
	f.create("example", showing)
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "ContentMissing")
	words := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "words"}, Data: map[string]string{"index.html": "one"}}
	f.must(f.Create(f.ctx, words))
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	expect := func(want string) {
		t.Helper()
		if got := read(f, "example-maintpage", &corev1.ConfigMap{}).Data["index.html"]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	expect("one")
	f.operator.Settle(t)
	f.operator.Reset()
	f.patch(words, "words", `{"data":{"index.html":"two"}}`)
	f.expectWrites("changed", contentWrite, pagePodWrite)
	expect("two")
	f.restart()
	f.operator.Settle(t)
	if reads := f.operator.Reads(); len(reads) != 0 {
		t.Errorf("read past the cache: %q", reads)
	}
	f.expectWrites("restart")

	f.patch(&corev1.ConfigMap{}, "example-maintpage", `{"data":{"index.html":"hand"}}`)
	f.operator.Settle(t)
	expect("two")
	f.operator.Reset()
	f.must(f.Delete(f.ctx, words))
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "ContentMissing")
	f.expectWrites("deleted", statusWrite)
	expect("two")
}
