// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/operator"
	"github.com/example/web-operators/internal/operator/operatortest"
	"github.com/example/web-operators/internal/testenv"
)

// The first half of this file is for tests of pure code, the second for those with an
// API server.

const testImage = "example.com/operator:1"

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// sample is the seed's resource as the API server returns it: with the schema's defaults.
func sample(change ...func(*v1alpha1.MaintPage)) *v1alpha1.MaintPage {
	m := &v1alpha1.MaintPage{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example", UID: "example-uid", Generation: 1},
		Spec: v1alpha1.MaintPageSpec{
			MaintPageConfig: v1alpha1.MaintPageConfig{MaintPageImage: "quay.io/daein/maintpage:latest"},
			AppConfig:       v1alpha1.AppConfig{AppName: "httpd", AppImage: "quay.io/daein/prodpage:latest"},
			Page:            v1alpha1.Page{Replicas: 1},
			DrainSeconds:    ptr.To[int32](30),
			OnPublish:       v1alpha1.OnPublishKeep,
		},
	}
	for _, c := range change {
		c(m)
	}
	return m
}

func toggled(m *v1alpha1.MaintPage)     { m.Spec.MaintPageConfig.MaintPageToggle = true }
func builtInPage(m *v1alpha1.MaintPage) { m.Spec.MaintPageConfig.MaintPageImage = "" }
func threePages(m *v1alpha1.MaintPage)  { m.Spec.Page.Replicas = 3 }
func scaling(m *v1alpha1.MaintPage)     { m.Spec.OnPublish = v1alpha1.OnPublishScaleToZero }
func showing(m *v1alpha1.MaintPage) {
	builtInPage(m)
	m.Spec.Page.ConfigMapRef = &v1alpha1.PageConfigMapReference{Name: "words", Key: "index.html"}
}

func covering(m *v1alpha1.MaintPage) {
	m.Spec.PublishOnOutage = &v1alpha1.PublishOnOutage{AfterSeconds: 30, ReturnAfterSeconds: 60}
}

func adopting(m *v1alpha1.MaintPage) {
	builtInPage(m)
	m.Spec.Adopt = true
	m.Spec.AppConfig = v1alpha1.AppConfig{AppName: "httpd"}
	m.Finalizers = []string{finalizer}
}

// published is a resource whose page has been published for an hour.
func publishedFor(cause v1alpha1.SwitchCause) func(*v1alpha1.MaintPage) {
	return func(m *v1alpha1.MaintPage) {
		m.Status.MaintPublishStatus, m.Status.Cause = v1alpha1.StatusPublished, cause
		m.Status.History = []v1alpha1.Switch{switched(pageSide, -time.Hour)}
		m.Status.History[0].Cause = cause
	}
}

// switched is a switch that was done some time from noon.
func switched(to side, at time.Duration) v1alpha1.Switch {
	when := metav1.NewTime(noon.Add(at))
	return v1alpha1.Switch{To: to.publishStatus(), Cause: v1alpha1.CauseToggle, StartTime: when, TrafficMovedTime: when, CompletionTime: when}
}

func ownedBy(m *v1alpha1.MaintPage) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: "MaintPage", Name: m.Name, UID: m.UID, Controller: ptr.To(true)}}
}

// world is what is seen when all is well: both sides are ready, and the application
// has the traffic.
func world(m *v1alpha1.MaintPage, change ...func(*observed)) *observed {
	app := map[string]string{labelApp: "httpd"}
	seen := &observed{
		now: noon,
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "httpd", Generation: 1},
			Spec: appsv1.DeploymentSpec{
				Replicas: ptr.To[int32](1),
				Selector: &metav1.LabelSelector{MatchLabels: app},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{labelApp: "httpd", "tier": "web"}}},
			},
			Status: deploymentStatus(1),
		},
		service: &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: "httpd", ResourceVersion: "7"},
			Spec: corev1.ServiceSpec{
				Selector: app,
				Ports:    []corev1.ServicePort{{Port: 8080, TargetPort: intstr.FromInt32(8080)}},
			},
		},
		endpoints: map[string]bool{"httpd-1": true},
	}
	if !m.Spec.Adopt {
		seen.deployment.OwnerReferences, seen.service.OwnerReferences = ownedBy(m), ownedBy(m)
	}
	seen.setPage(m, readyPage(m, seen))
	for _, c := range change {
		c(seen)
	}
	return seen
}

func deploymentStatus(ready int32) appsv1.DeploymentStatus {
	available := corev1.ConditionFalse
	if ready > 0 {
		available = corev1.ConditionTrue
	}
	return appsv1.DeploymentStatus{
		ObservedGeneration: 1, Replicas: ready, UpdatedReplicas: ready, ReadyReplicas: ready, AvailableReplicas: ready,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: available}},
	}
}

func appDown(seen *observed) { seen.deployment.Status = deploymentStatus(0) }

// stopped is an application that had three pods.
func stopped(seen *observed) {
	seen.deployment.Annotations = map[string]string{annotationReplicas: "3"}
	seen.deployment.Spec.Replicas = ptr.To[int32](0)
	appDown(seen)
}

// readyPage is the page's pod as it should be.
func readyPage(m *v1alpha1.MaintPage, seen *observed, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: podName(m), OwnerReferences: ownedBy(m),
		Annotations: pod(m, testImage, pagePorts(m, seen), "").Annotations,
	}}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
func outdated(p *corev1.Pod) { p.Annotations[annotationTemplate] = "old" }
func ended(p *corev1.Pod) {
	notReady(p)
	p.Status.Phase = corev1.PodFailed
}

func goneAt(when time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.NewTime(when)) }
}

// setPage makes these the pods of the page.
func (seen *observed) setPage(m *v1alpha1.MaintPage, pods ...corev1.Pod) {
	seen.pod, seen.pagePods = nil, pods
	for i := range pods {
		if pods[i].Name == podName(m) {
			seen.pod = &pods[i]
		}
	}
}

func noPage(m *v1alpha1.MaintPage) func(*observed) {
	return func(seen *observed) { seen.setPage(m) }
}

func withPage(m *v1alpha1.MaintPage, change ...func(*corev1.Pod)) func(*observed) {
	return func(seen *observed) { seen.setPage(m, readyPage(m, seen, change...)) }
}

// selecting sets the selector of the Service, leading what is behind it.
func selecting(m *v1alpha1.MaintPage, to side) func(*observed) {
	return func(seen *observed) {
		if to == appSide {
			seen.service.Spec.Selector = appSelector(m, seen)
			return
		}
		if borrows(m) {
			lead(m, seen, pageSide)(seen.service)
		}
		seen.service.Spec.Selector = pageSelector(m)
	}
}

func leading(m *v1alpha1.MaintPage, to side) func(*observed) {
	name := "httpd-1"
	if to == pageSide {
		name = podName(m)
	}
	return func(seen *observed) { seen.endpoints = map[string]bool{name: true} }
}

func atPage(m *v1alpha1.MaintPage) func(*observed) {
	return func(seen *observed) {
		selecting(m, pageSide)(seen)
		leading(m, pageSide)(seen)
	}
}

// conditionsOf are status and reason of MaintPageReady, AppAvailable, TrafficSwitched
// and Degraded, in this order.
func conditionsOf(t *testing.T, s *v1alpha1.MaintPageStatus, generation int64) string {
	t.Helper()
	var all []string
	for _, conditionType := range []string{
		v1alpha1.ConditionMaintPageReady, v1alpha1.ConditionAppAvailable,
		v1alpha1.ConditionTrafficSwitched, v1alpha1.ConditionDegraded,
	} {
		c := meta.FindStatusCondition(s.Conditions, conditionType)
		if c == nil || c.Message == "" || c.ObservedGeneration != generation {
			t.Fatalf("%s: %v", conditionType, c)
		}
		all = append(all, fmt.Sprintf("%s/%s", c.Status, c.Reason))
	}
	return strings.Join(all, " ")
}

var env *testenv.Environment

func TestMain(m *testing.M) { testenv.Main(m, &env) }

// fixture is a namespace of the test's own, with an operator that looks at nothing
// else and whose clock goes only when the test puts it forward.
type fixture struct {
	*testing.T
	client.Client
	ctx       context.Context
	namespace string
	operator  *operatortest.Operator
	begin     time.Time
	ahead     atomic.Int64
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, Client: env.Client, ctx: t.Context(), begin: time.Now()}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "maintpage-"}}
	f.must(f.Create(f.ctx, namespace))
	f.namespace = namespace.Name
	f.start()
	return f
}

// start runs the operator as its main does.
func (f *fixture) start() {
	f.Helper()
	r := &Reconciler{now: func() time.Time { return f.begin.Add(time.Duration(f.ahead.Load())) }}
	f.operator = operatortest.Start(f.T, env, "config/maintpage/role.yaml", operator.Options{
		Name:        Name,
		AddToScheme: v1alpha1.AddToScheme,
		Cache:       Cache(),
		BindFlags:   r.BindFlags,
		Setup:       r.SetupWithManager,
	}, "--page-image="+testImage, "--watch-namespaces="+f.namespace)
}

func (f *fixture) restart() {
	f.Helper()
	f.operator.Stop(f.T)
	f.start()
}

// forward puts the clock forward and wakes the operator, which sleeps by another one.
func (f *fixture) forward(by time.Duration) {
	f.Helper()
	f.ahead.Add(int64(by))
	f.patch(&v1alpha1.MaintPage{}, "example", fmt.Sprintf(`{"metadata":{"annotations":{"example.com/woken":"%d"}}}`, f.ahead.Load()))
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// create makes the seed's resource.
func (f *fixture) create(name string, change ...func(*v1alpha1.MaintPage)) *v1alpha1.MaintPage {
	f.Helper()
	m := &v1alpha1.MaintPage{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name},
		Spec: v1alpha1.MaintPageSpec{
			MaintPageConfig: v1alpha1.MaintPageConfig{MaintPageImage: "maintpage:1"},
			AppConfig:       v1alpha1.AppConfig{AppName: "httpd", AppImage: "prodpage:1"},
		},
	}
	for _, c := range change {
		c(m)
	}
	m.Finalizers = nil // the operator's to set
	f.must(f.Create(f.ctx, m))
	return m
}

// createApp makes an application that is not the operator's.
func (f *fixture) createApp(ports ...corev1.ServicePort) {
	f.Helper()
	labels := map[string]string{"shop": "web"}
	f.must(f.Create(f.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "httpd"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](2),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "shop", Image: "shop:1", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}},
				}}},
			},
		},
	}))
	if len(ports) == 0 {
		ports = []corev1.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromString("web")}}
	}
	f.must(f.Create(f.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "httpd", Annotations: map[string]string{"team": "shop"}},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: ports},
	}))
	f.setApp(2)
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

func (f *fixture) toggle(on bool) {
	f.Helper()
	f.patch(&v1alpha1.MaintPage{}, "example", fmt.Sprintf(`{"spec":{"maintpageconfig":{"maintpagetoggle":%v}}}`, on))
}

// eventually waits for a condition of the resource.
func (f *fixture) eventually(name, conditionType string, status metav1.ConditionStatus, reason string) *v1alpha1.MaintPage {
	f.Helper()
	var m *v1alpha1.MaintPage
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m = read(f, name, &v1alpha1.MaintPage{})
		c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
		if c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == m.Generation {
			return m
		}
	}
	f.Fatalf("%s does not become %s/%s: %+v", conditionType, status, reason, m.Status)
	return nil
}

func (f *fixture) eventuallySwitched(reason string) *v1alpha1.MaintPage {
	f.Helper()
	return f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionTrue, reason)
}

func (f *fixture) eventuallyStage(reason string) *v1alpha1.MaintPage {
	f.Helper()
	return f.eventually("example", v1alpha1.ConditionTrafficSwitched, metav1.ConditionFalse, reason)
}

// setReady and setApp do what the kubelet and the Deployment's controller would do.
func (f *fixture) setReady(name string) {
	f.Helper()
	pod := read(f, name, &corev1.Pod{})
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	f.must(f.Status().Update(f.ctx, pod))
}

func (f *fixture) setApp(ready int32) {
	f.Helper()
	d := read(f, "httpd", &appsv1.Deployment{})
	d.Status = deploymentStatus(ready)
	d.Status.ObservedGeneration = d.Generation
	f.must(f.Status().Update(f.ctx, d))
}

// route does what the controller of EndpointSlices would do: the Service leads to
// these pods.
func (f *fixture) route(pods ...string) {
	f.Helper()
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "httpd-slice"}}
	known := f.Get(f.ctx, client.ObjectKeyFromObject(slice), slice) == nil
	slice.AddressType = discoveryv1.AddressTypeIPv4
	slice.Labels = maps.Clone(read(f, "httpd", &corev1.Service{}).Labels)
	metav1.SetMetaDataLabel(&slice.ObjectMeta, discoveryv1.LabelServiceName, "httpd")
	slice.Endpoints = nil
	for i, pod := range pods {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprintf("10.0.0.%d", i+1)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod},
		})
	}
	if known {
		f.must(f.Update(f.ctx, slice))
	} else {
		f.must(f.Create(f.ctx, slice))
	}
}

// settled is a resource whose application has the traffic and whose page is ready.
func (f *fixture) settled(change ...func(*v1alpha1.MaintPage)) {
	f.Helper()
	m := f.create("example", change...)
	f.operator.Settle(f.T)
	if m.Spec.Page.Replicas == 1 {
		f.setReady("example-maintpage-pod")
	}
	if !m.Spec.Adopt {
		f.setApp(1)
	}
	f.route("httpd-1")
	f.eventuallySwitched("NotPublished")
	f.operator.Settle(f.T)
	f.operator.Reset()
}

// publish brings a settled resource to where the page has the traffic and the
// application is drained.
func (f *fixture) publish() {
	f.Helper()
	f.toggle(true)
	f.eventuallyStage("Moving")
	f.route("example-maintpage-pod")
	f.eventuallyStage("Settling")
	f.forward(time.Minute)
	f.eventuallySwitched("Published")
}

func (f *fixture) expectWrites(what string, want ...string) {
	f.Helper()
	f.operator.ExpectWrites(f.T, f.namespace, what, want...)
}

func (f *fixture) expectSelector(want map[string]string) {
	f.Helper()
	if got := read(f, "httpd", &corev1.Service{}).Spec.Selector; !maps.Equal(got, want) {
		f.Errorf("selector %v, want %v", got, want)
	}
}
