// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/memcached"
)

func TestLifeOfAResource(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](3)})
	f.eventually(v1alpha1.ConditionProgressing, metav1.ConditionTrue, "Creating")
	f.expectWrites("create",
		"PATCH memcacheds/sample", "PATCH deployments/sample", "PATCH services/sample", "PATCH memcacheds/sample/status")

	d, s := read(f, "sample", &appsv1.Deployment{}), read(f, "sample", &corev1.Service{})
	if !metav1.IsControlledBy(d, m) || !metav1.IsControlledBy(s, m) {
		t.Error("children without an owner reference")
	}
	if *d.Spec.Replicas != 3 || s.Spec.ClusterIP != corev1.ClusterIPNone || d.Spec.Template.Spec.Containers[0].Image != memcached.DefaultImage {
		t.Errorf("%v, %v", d.Spec, s.Spec)
	}

	f.run("sample")
	m = f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	if !slices.Equal(m.Status.Nodes, []string{"sample-x", "sample-y", "sample-z"}) ||
		m.Status.Phase != v1alpha1.PhaseRunning || m.Status.Ready != "3/3" || m.Status.Endpoint == "" {
		t.Errorf("%+v", m.Status)
	}
	if wanted, ready := f.gauge("wanted"), f.gauge("ready"); wanted != 3 || ready != 3 {
		t.Errorf("metrics tell %v of %v nodes ready", ready, wanted)
	}
	if reads := f.operator.Reads(); len(reads) != 0 {
		t.Errorf("read past the cache: %q", reads)
	}

	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"size":5}}`))))
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NodesNotReady")
	if d := read(f, "sample", &appsv1.Deployment{}); *d.Spec.Replicas != 5 {
		t.Errorf("%d replicas", *d.Spec.Replicas)
	}
	f.expectEvents("sample", "Creating", "AllNodesReady", "Updating")
}

func TestDriftIsRepairedByOneWrite(t *testing.T) {
	f := newFixture(t)
	f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](1)})
	f.operator.Settle(t)
	f.run("sample")
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.operator.Settle(t)
	f.operator.Reset()

	patch := func(object client.Object, patch string) {
		t.Helper()
		object.SetNamespace(f.namespace)
		object.SetName("sample")
		f.must(f.Patch(f.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	patch(&appsv1.Deployment{}, `{"metadata":{"labels":{"app":"hand"}}}`)
	f.expectWrites("label", "PATCH deployments/sample")
	patch(&appsv1.Deployment{}, `{"metadata":{"labels":null}}`)
	f.expectWrites("all labels", "PATCH deployments/sample")
	patch(&appsv1.Deployment{}, `{"metadata":{"ownerReferences":null}}`)
	f.expectWrites("owner reference", "PATCH deployments/sample")
	patch(&corev1.Service{}, `{"spec":{"selector":{"app":"hand"}}}`)
	f.expectWrites("selector", "PATCH services/sample")

	f.must(f.Delete(f.ctx, read(f, "sample", &corev1.Service{})))
	f.expectWrites("Service deleted", "PATCH services/sample")

	for i := range 10 {
		patch(&appsv1.Deployment{}, fmt.Sprintf(`{"metadata":{"annotations":{"foreign.example.com/%d":"x"}}}`, i))
	}
	f.expectWrites("foreign annotations")
	if m := read(f, "sample", &v1alpha1.Memcached{}); !meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionAvailable) {
		t.Errorf("%+v", m.Status)
	}
}

func TestRestartWritesNothing(t *testing.T) {
	f := newFixture(t)
	const resources = 20
	for i := range resources {
		f.create(fmt.Sprintf("m-%d", i), v1alpha1.MemcachedSpec{Size: ptr.To[int32](1)})
	}
	f.operator.Settle(t)
	if got := len(f.operator.Writes()); got != 4*resources {
		t.Errorf("%d writes for %d resources, want %d: %q", got, resources, 4*resources, f.operator.Writes())
	}
	for i := range resources {
		f.run(fmt.Sprintf("m-%d", i))
	}
	f.operator.Settle(t)
	f.operator.Stop(t)

	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.expectWrites("restart")
	// The other way to look at a namespace must not see anything else.
	f.operator.Stop(t)
	f.operator = start(t)
	f.expectWrites("restart, all namespaces")
}

func TestForeignDeploymentIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	labels := map[string]string{"app": "foreign"}
	foreign := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "sample"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			},
		},
	}
	f.must(f.Create(f.ctx, foreign))
	f.create("sample", v1alpha1.MemcachedSpec{})
	m := f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	if m.Status.Phase != v1alpha1.PhaseDegraded {
		t.Errorf("%+v", m.Status)
	}
	f.expectWrites("refused", "PATCH memcacheds/sample", "PATCH services/sample", "PATCH memcacheds/sample/status")
	if after := read(f, "sample", &appsv1.Deployment{}); after.ResourceVersion != foreign.ResourceVersion {
		t.Error("a foreign Deployment was written")
	}
	f.expectEvents("sample", "NotOwned")

	f.must(f.Delete(f.ctx, foreign))
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	f.expectWrites("name free", "PATCH deployments/sample", "PATCH memcacheds/sample/status")
}

// The nodes leave the Service before the resource goes, and with it the nodes.
func TestDeletionTakesNodesOutOfTheServiceFirst(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](1)})
	f.operator.Settle(t)
	f.operator.Reset()
	// A Service that cannot go at once shows the order.
	s := read(f, "sample", &corev1.Service{})
	f.must(f.Patch(f.ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))))
	f.must(f.Delete(f.ctx, m))
	f.operator.Settle(t)
	// The request that ends the resource may be sent twice: its end reaches the cache later.
	if writes := f.operator.Writes(); len(writes) < 3 || !strings.HasPrefix(writes[0], "DELETE ") || !strings.HasSuffix(writes[0], "/services/sample") {
		t.Errorf("writes %q, want the Service to be deleted first", writes)
	}
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("the resource is still there (%v): a Service that is going must not be waited for", err)
	}
	if s := read(f, "sample", &corev1.Service{}); s.DeletionTimestamp.IsZero() {
		t.Error("the Service was not deleted")
	}
	if got := f.gauge("ready"); got != -1 {
		t.Errorf("metrics still tell of %v nodes", got)
	}
}

func TestDeletionDoesNotWaitForWhatIsNotThere(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{})
	f.operator.Settle(t)
	f.operator.Stop(t) // nobody repairs it
	f.must(f.Delete(f.ctx, read(f, "sample", &corev1.Service{})))
	f.must(f.Delete(f.ctx, m))
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.operator.Settle(t)
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
		t.Errorf("the resource is still there: %v", err)
	}
}

// What a field asks for comes when it is set, goes when it is unset, and is
// nobody's business when somebody else made it.
func TestOptionalChildren(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{})
	f.operator.Settle(t)
	f.operator.Reset()
	patch := func(patch string) {
		t.Helper()
		f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	patch(`{"spec":{"disruption":{},"networkPolicy":{}}}`)
	f.expectWrites("set", "PATCH poddisruptionbudgets/sample", "PATCH networkpolicies/sample", "PATCH memcacheds/sample/status")
	if b := read(f, "sample", &policyv1.PodDisruptionBudget{}); !metav1.IsControlledBy(b, m) || b.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("%+v", b)
	}
	f.must(f.Patch(f.ctx, read(f, "sample", &networkingv1.NetworkPolicy{}), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"ingress":[]}}`))))
	f.expectWrites("hand edit", "PATCH networkpolicies/sample")
	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.expectWrites("restart")

	patch(`{"spec":{"disruption":null,"networkPolicy":null}}`)
	f.expectWrites("unset", "DELETE poddisruptionbudgets/sample", "DELETE networkpolicies/sample", "PATCH memcacheds/sample/status")

	foreign := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "sample"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: ptr.To(intstr.FromInt32(3))},
	}
	f.must(f.Create(f.ctx, foreign))
	f.expectWrites("somebody else's")
	patch(`{"spec":{"disruption":{}}}`)
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	f.expectWrites("name taken", "PATCH memcacheds/sample/status")
}

// The old workload stays until the new one serves, and there is a way back.
func TestWorkloadChange(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](2)})
	f.operator.Settle(t)
	f.run("sample")
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.operator.Reset()

	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"workload":"StatefulSet"}}`))))
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionFalse, "NodesNotReady")
	f.expectWrites("change", "PATCH statefulsets/sample", "PATCH memcacheds/sample/status")
	d := read(f, "sample", &appsv1.Deployment{})

	s := read(f, "sample", &appsv1.StatefulSet{})
	if *s.Spec.Replicas != 2 || s.Spec.ServiceName != "sample" || !metav1.IsControlledBy(s, m) {
		t.Errorf("%+v", s.Spec)
	}
	s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	f.must(f.Status().Update(f.ctx, s))
	f.expectWrites("the new one serves", "DELETE deployments/sample")
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(d), d); !apierrors.IsNotFound(err) {
		t.Errorf("the old workload is still there: %v", err)
	}

	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"workload":"Deployment"}}`))))
	f.operator.Settle(t)
	f.report("sample")
	f.operator.Settle(t)
	if err := f.Get(f.ctx, client.ObjectKeyFromObject(s), s); !apierrors.IsNotFound(err) {
		t.Errorf("the StatefulSet is still there: %v", err)
	}
}

func TestServiceTypeChangeReplacesTheService(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{})
	f.operator.Settle(t)
	f.operator.Reset()
	before := read(f, "sample", &corev1.Service{})
	f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"service":{"type":"ClusterIP"}}}`))))
	f.expectWrites("replace", "DELETE services/sample", "PATCH services/sample", "PATCH memcacheds/sample/status")
	if after := read(f, "sample", &corev1.Service{}); after.UID == before.UID || after.Spec.ClusterIP == corev1.ClusterIPNone {
		t.Errorf("%+v", after.Spec)
	}
}

// The cache is behind what was just written. Whoever decides on it writes again.
func TestWritesAreNotRepeated(t *testing.T) {
	for _, test := range []struct {
		name string
		args func(f *fixture) []string
	}{
		{"all namespaces", func(*fixture) []string { return nil }},
		{"one namespace", func(f *fixture) []string { return []string{"--watch-namespaces=" + f.namespace} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &fixture{T: t, Client: env.Client, ctx: t.Context()}
			f.namespace = f.newNamespace()
			f.operator = startBehind(t, 50*time.Millisecond, test.args(f)...)
			f.operator.Settle(t)
			f.operator.Reset()
			const resources, changes = 10, 5
			for i := range resources {
				m := f.create(fmt.Sprintf("m-%d", i), v1alpha1.MemcachedSpec{})
				for n := range changes {
					f.must(f.Patch(f.ctx, m, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"size":%d}}`, n+2))))
				}
			}
			for i := range resources {
				f.eventuallyObserved(fmt.Sprintf("m-%d", i))
			}
			f.operator.Settle(t)
			counts := map[string]int{}
			for _, write := range f.operator.Writes() {
				_, name, _ := strings.Cut(write, "/namespaces/"+f.namespace+"/")
				kind, _, _ := strings.Cut(name, "/")
				counts[kind]++
			}
			t.Log(counts)
			if counts["services"] != resources {
				t.Errorf("%d writes of %d Services", counts["services"], resources)
			}
			// Every write that changes something is a generation.
			generations := 0
			for i := range resources {
				generations += int(read(f, fmt.Sprintf("m-%d", i), &appsv1.Deployment{}).Generation)
			}
			if counts["deployments"] != generations {
				t.Errorf("%d writes of Deployments for %d changes", counts["deployments"], generations)
			}
		})
	}
}
