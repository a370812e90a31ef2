// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/maintpage"
	"github.com/example/web-operators/internal/operator"
	"github.com/example/web-operators/internal/operator/operatortest"
	"github.com/example/web-operators/internal/testenv"
)

var env *testenv.Environment

func TestMain(m *testing.M) { testenv.Main(m, &env) }

// start runs the operator as its main does.
func start(t *testing.T, args ...string) *operatortest.Operator {
	t.Helper()
	r := &maintpage.Reconciler{}
	return operatortest.Start(t, env, "config/maintpage/role.yaml", operator.Options{
		Name:        maintpage.Name,
		AddToScheme: v1alpha1.AddToScheme,
		Cache:       maintpage.Cache(),
		Setup:       r.SetupWithManager,
	}, args...)
}

// fixture is a namespace of the test's own, with an operator that looks at nothing else.
type fixture struct {
	*testing.T
	client.Client
	ctx       context.Context
	namespace string
	operator  *operatortest.Operator
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, Client: env.Client, ctx: t.Context()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "maintpage-"}}
	f.must(f.Create(f.ctx, namespace))
	f.namespace = namespace.Name
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// create makes the seed's resource.
func (f *fixture) create(name string) *v1alpha1.MaintPage {
	f.Helper()
	m := &v1alpha1.MaintPage{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: v1alpha1.MaintPageSpec{
			MaintPageConfig: v1alpha1.MaintPageConfig{MaintPageImage: "maintpage:1"},
			AppConfig:       v1alpha1.AppConfig{AppName: "httpd", AppImage: "prodpage:1"},
		},
	}
	f.must(f.Create(f.ctx, m))
	return m
}

// read fetches an object by name into the empty one given.
func read[T client.Object](f *fixture, name string, object T) T {
	f.Helper()
	f.must(f.Get(f.ctx, types.NamespacedName{Namespace: f.namespace, Name: name}, object))
	return object
}

func (f *fixture) patch(object client.Object, name, patch string) {
	f.Helper()
	object.SetNamespace(f.namespace)
	object.SetName(name)
	f.must(f.Patch(f.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// eventually waits for a condition of the resource.
func (f *fixture) eventually(name, conditionType string, status metav1.ConditionStatus, reason string) *v1alpha1.MaintPage {
	f.Helper()
	var m *v1alpha1.MaintPage
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m = read(f, name, &v1alpha1.MaintPage{})
		c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
		if c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == m.Generation {
			return m
		}
	}
	f.Fatalf("%s does not become %s/%s: %+v", conditionType, status, reason, m.Status)
	return nil
}

// setPage and setApp do what the kubelet and the Deployment's controller would do.
func (f *fixture) setPage(name string, ready corev1.ConditionStatus) {
	f.Helper()
	pod := read(f, name+"-maintpage-pod", &corev1.Pod{})
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
	f.must(f.Status().Update(f.ctx, pod))
}

func (f *fixture) setApp(ready int32) {
	f.Helper()
	d := read(f, "httpd", &appsv1.Deployment{})
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, ReadyReplicas: ready, AvailableReplicas: ready}
	f.must(f.Status().Update(f.ctx, d))
}

func (f *fixture) expectWrites(what string, want ...string) {
	f.Helper()
	f.operator.ExpectWrites(f.T, f.namespace, what, want...)
}

func (f *fixture) expectSelector(want string) {
	f.Helper()
	if got := read(f, "httpd", &corev1.Service{}).Spec.Selector; !maps.Equal(got, map[string]string{"app": want}) {
		f.Errorf("selector %v, want app=%s", got, want)
	}
}

func TestSeedWalkthrough(t *testing.T) {
	f := newFixture(t)
	m := f.create("example")
	f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionTrue, "NotPublished")
	f.expectWrites("create", "PATCH pods/example-maintpage-pod", "PATCH deployments/httpd", "PATCH services/httpd", "PATCH maintpages/example/status")

	pod, d, s := read(f, "example-maintpage-pod", &corev1.Pod{}), read(f, "httpd", &appsv1.Deployment{}), read(f, "httpd", &corev1.Service{})
	if !metav1.IsControlledBy(pod, m) || !metav1.IsControlledBy(d, m) || !metav1.IsControlledBy(s, m) {
		t.Error("children without an owner reference")
	}
	if pod.Labels["app"] != "example" || pod.Spec.Containers[0].Name != "maintpage" ||
		d.Spec.Template.Spec.Containers[0].Name != "httpd" || s.Spec.Ports[0].Name != "8080-tcp" || s.Spec.Ports[0].Port != 8080 {
		t.Errorf("%v\n%v\n%v", pod, d, s)
	}
	f.expectSelector("httpd")

	// Never to a page that is not ready.
	f.setApp(1)
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"maintpageconfig":{"maintpagetoggle":true}}}`)
	f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionFalse, "PageNotReady")
	f.expectSelector("httpd")
	f.operator.Settle(t)
	f.operator.Reset()

	f.setPage("example", corev1.ConditionTrue)
	m = f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionTrue, "Published")
	f.expectSelector("example")
	if m.Status.MaintPublishStatus != v1alpha1.StatusPublished {
		t.Errorf("%q", m.Status.MaintPublishStatus)
	}
	f.expectWrites("publish", "PATCH services/httpd", "PATCH maintpages/example/status")

	// Nor back to an application that is not ready.
	f.setApp(0)
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"maintpageconfig":{"maintpagetoggle":false}}}`)
	f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionFalse, "AppNotReady")
	f.expectSelector("example")
	f.setApp(1)
	m = f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionTrue, "NotPublished")
	f.expectSelector("httpd")
	if m.Status.MaintPublishStatus != v1alpha1.StatusNotPublished {
		t.Errorf("%q", m.Status.MaintPublishStatus)
	}
}

func TestDriftIsRepairedByOneWrite(t *testing.T) {
	f := newFixture(t)
	f.create("example")
	f.operator.Settle(t)
	f.setPage("example", corev1.ConditionTrue)
	f.setApp(1)
	f.operator.Settle(t)
	f.operator.Reset()

	d := read(f, "httpd", &appsv1.Deployment{})
	d.Spec.Template.Spec.Containers[0].Image = "prodpage:notfound"
	f.must(f.Update(f.ctx, d))
	f.expectWrites("image", "PATCH deployments/httpd")
	if got := read(f, "httpd", &appsv1.Deployment{}).Spec.Template.Spec.Containers[0].Image; got != "prodpage:1" {
		t.Error(got)
	}
	f.patch(&corev1.Service{}, "httpd", `{"spec":{"selector":{"app":"hand","more":"x"}}}`)
	f.expectWrites("selector", "PATCH services/httpd")
	f.expectSelector("httpd")

	// The label by which the operator finds its pods: without it the pod is not in the cache.
	f.patch(&corev1.Pod{}, "example-maintpage-pod", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	f.expectWrites("pod label", "PATCH pods/example-maintpage-pod")
	f.patch(&corev1.Pod{}, "example-maintpage-pod", `{"metadata":{"labels":{"app":"hand"}}}`)
	f.expectWrites("other pod label", "PATCH pods/example-maintpage-pod")

	// Replicas are not the operator's unless the resource says so.
	f.patch(&appsv1.Deployment{}, "httpd", `{"spec":{"replicas":4}}`)
	f.expectWrites("replicas")

	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.expectWrites("restart")
	if reads := f.operator.Reads(); len(reads) != 0 {
		t.Errorf("read past the cache: %q", reads)
	}
}

func TestChangedPageImage(t *testing.T) {
	f := newFixture(t)
	f.create("example")
	f.operator.Settle(t)
	before := read(f, "example-maintpage-pod", &corev1.Pod{})
	f.patch(&v1alpha1.MaintPage{}, "example", `{"spec":{"maintpageconfig":{"maintpageimage":"maintpage:2"}}}`)
	f.operator.Settle(t)
	after := read(f, "example-maintpage-pod", &corev1.Pod{})
	if after.UID != before.UID || after.Spec.Containers[0].Image != "maintpage:2" {
		t.Errorf("%v", after.Spec.Containers)
	}
}

func TestEndedPageIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.create("example")
	f.operator.Settle(t)
	pod := read(f, "example-maintpage-pod", &corev1.Pod{})
	pod.Status.Phase = corev1.PodFailed
	f.must(f.Status().Update(f.ctx, pod))
	f.operator.Settle(t)
	if after := read(f, "example-maintpage-pod", &corev1.Pod{}); after.UID == pod.UID {
		t.Error("a pod that has ended was kept")
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
	f.create("example")
	f.eventually("example", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	f.expectWrites("refused", "PATCH deployments/httpd", "PATCH maintpages/example/status")
	if read(f, "httpd", &corev1.Service{}).ResourceVersion != s.ResourceVersion ||
		read(f, "example-maintpage-pod", &corev1.Pod{}).ResourceVersion != pod.ResourceVersion {
		t.Error("a foreign object was written")
	}

	f.must(f.Delete(f.ctx, s))
	f.expectWrites("Service gone", "PATCH services/httpd", "PATCH maintpages/example/status")
}

// The second claim on an application is refused, and takes over when the first ends.
func TestTwoClaims(t *testing.T) {
	f := newFixture(t)
	f.create("first")
	f.eventually("first", v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	f.create("second")
	m := f.eventually("second", v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionDegraded); !strings.Contains(c.Message, "belongs to MaintPage first") {
		t.Error(c.Message)
	}
	f.operator.Settle(t)
	f.operator.Reset()
	f.patch(&v1alpha1.MaintPage{}, "first", `{"metadata":{"annotations":{"x":"y"}}}`)
	f.patch(&v1alpha1.MaintPage{}, "second", `{"metadata":{"annotations":{"x":"y"}}}`)
	f.expectWrites("no fight")
}
