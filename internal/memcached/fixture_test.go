// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/memcached"
	"github.com/example/web-operators/internal/operator"
	"github.com/example/web-operators/internal/operator/operatortest"
	"github.com/example/web-operators/internal/testenv"
)

var env *testenv.Environment

func TestMain(m *testing.M) { testenv.Main(m, &env) }

// start runs the operator as its main does.
func start(t *testing.T, args ...string) *operatortest.Operator {
	t.Helper()
	return startBehind(t, 0, args...)
}

func startBehind(t *testing.T, lag time.Duration, args ...string) *operatortest.Operator {
	t.Helper()
	r := &memcached.Reconciler{}
	return operatortest.StartBehind(t, env, lag, "config/memcached/role.yaml", operator.Options{
		Name:        memcached.Name,
		AddToScheme: memcached.AddToScheme,
		Cache:       memcached.Cache(),
		BindFlags:   r.BindFlags,
		Setup:       r.SetupWithManager,
	}, append([]string{"--companion-image=example.com/operator:1"}, args...)...)
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
	f.namespace = f.newNamespace()
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	return f
}

func (f *fixture) newNamespace() string {
	f.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "memcached-"}}
	f.must(f.Create(f.ctx, namespace))
	return namespace.Name
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) create(name string, spec v1alpha1.MemcachedSpec) *v1alpha1.Memcached {
	f.Helper()
	m := &v1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Spec: spec}
	f.must(f.Create(f.ctx, m))
	return m
}

// read fetches an object by name into the empty one given.
func read[T client.Object](f *fixture, name string, object T) T {
	f.Helper()
	f.must(f.Get(f.ctx, types.NamespacedName{Namespace: f.namespace, Name: name}, object))
	return object
}

// eventually waits for a condition of the resource "sample".
func (f *fixture) eventually(conditionType string, status metav1.ConditionStatus, reason string) *v1alpha1.Memcached {
	f.Helper()
	var m *v1alpha1.Memcached
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		m = read(f, "sample", &v1alpha1.Memcached{})
		c := meta.FindStatusCondition(m.Status.Conditions, conditionType)
		if c != nil && c.Status == status && c.Reason == reason && c.ObservedGeneration == m.Generation {
			return m
		}
	}
	f.Fatalf("%s does not become %s/%s: %+v", conditionType, status, reason, m.Status)
	return nil
}

// eventuallyObserved waits until the operator has seen the last change of a resource.
func (f *fixture) eventuallyObserved(name string) {
	f.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if m := read(f, name, &v1alpha1.Memcached{}); m.Status.ObservedGeneration == m.Generation {
			return
		}
	}
	f.Fatalf("%s is not observed", name)
}

// run does what the controllers of Deployments and Services, the scheduler and the
// kubelet would do.
func (f *fixture) run(name string) {
	f.Helper()
	d := read(f, name, &appsv1.Deployment{})
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, GenerateName: name + "-", Labels: map[string]string{
			discoveryv1.LabelServiceName: name, "memcached_cr": name,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for i := range *d.Spec.Replicas {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fmt.Sprintf("%s-%c", name, 'z'-i), Labels: d.Spec.Template.Labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "memcached", Image: "i"}}},
		}
		f.must(f.Create(f.ctx, pod))
		address := fmt.Sprintf("10.0.0.%d", i+1)
		pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		f.must(f.Status().Update(f.ctx, pod))
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod.Name},
		})
	}
	f.must(f.Create(f.ctx, slice))
	f.report(name)
}

// report is the part of it that the Deployment's status tells.
func (f *fixture) report(name string) {
	f.Helper()
	d := read(f, name, &appsv1.Deployment{})
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
	}
	f.must(f.Status().Update(f.ctx, d))
}

func (f *fixture) expectWrites(what string, want ...string) {
	f.Helper()
	f.operator.ExpectWrites(f.T, f.namespace, what, want...)
}

// gauge reads a metric of the resource "sample", and is -1 where there is none.
func (f *fixture) gauge(what string) float64 {
	f.Helper()
	families, err := metrics.Registry.Gather()
	f.must(err)
	for _, family := range families {
		if family.GetName() != "memcached_operator_nodes_"+what {
			continue
		}
		for _, metric := range family.Metric {
			labels := map[string]string{}
			for _, pair := range metric.Label {
				labels[pair.GetName()] = pair.GetValue()
			}
			if labels["namespace"] == f.namespace && labels["name"] == "sample" {
				return metric.Gauge.GetValue()
			}
		}
	}
	return -1
}

func (f *fixture) expectEvents(name string, reasons ...string) {
	f.Helper()
	var got []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		list := &eventsv1.EventList{}
		f.must(f.List(f.ctx, list, client.InNamespace(f.namespace)))
		got = nil
		for _, event := range list.Items {
			if event.Regarding.Name == name {
				got = append(got, event.Reason)
			}
		}
		slices.Sort(got)
		got = slices.Compact(got)
		slices.Sort(reasons)
		if isSubset(reasons, got) {
			return
		}
	}
	f.Errorf("events %q, want %q", got, reasons)
}

func isSubset(part, all []string) bool {
	return !slices.ContainsFunc(part, func(s string) bool { return !slices.Contains(all, s) })
}
