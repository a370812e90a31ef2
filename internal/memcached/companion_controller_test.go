// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/companion/nodelist"
	"github.com/example/web-operators/internal/memcached"
)

// patch changes an object, and waits until the operator has seen a new spec.
func (f *fixture) patch(object client.Object, patch string) {
	f.Helper()
	f.must(f.Patch(f.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
	if _, ok := object.(*v1alpha1.Memcached); ok {
		f.eventuallyObserved(object.GetName())
	}
}

// list is what the ConfigMap tells.
func (f *fixture) list() nodelist.List {
	f.Helper()
	l, err := nodelist.Parse([]byte(read(f, "sample-nodes", &corev1.ConfigMap{}).Data[nodelist.File]))
	f.must(err)
	return l
}

// runCompanion makes a pod of a companion, as its controllers would.
func (f *fixture) runCompanion(component string) {
	f.Helper()
	d := read(f, "sample-"+component, &appsv1.Deployment{})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "sample-" + component + "-x", Labels: d.Spec.Template.Labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "companion", Image: "i"}}},
	}
	f.must(f.Create(f.ctx, pod))
	f.report("sample-" + component)
}

var companionWrites = []string{
	"PATCH deployments/sample-discovery", "PATCH services/sample-discovery", "PATCH poddisruptionbudgets/sample-discovery",
	"PATCH deployments/sample-metrics", "PATCH services/sample-metrics",
}

func TestCompanions(t *testing.T) {
	f := newFixture(t)
	m := f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](2)})
	f.operator.Settle(t)
	f.run("sample")
	f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.operator.Settle(t)
	f.operator.Reset()

	f.patch(m, `{"spec":{"discovery":{},"monitoring":{"serviceMonitor":{}}}}`)
	m = f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionFalse, "DiscoveryNotReady")
	f.expectWrites("set", append([]string{"PATCH configmaps/sample-nodes", "PATCH memcacheds/sample/status"}, companionWrites...)...)
	if l := f.list(); l.Version != 1 || len(l.Nodes) != 2 || l.Nodes[0].IP != "10.0.0.2" {
		t.Errorf("%v", l)
	}
	if e := m.Status.Endpoints; m.Status.Endpoint != "sample-discovery."+f.namespace+".svc:11211" || e.Discovery != m.Status.Endpoint ||
		e.NodeList != "http://sample-discovery."+f.namespace+".svc:8080/nodes" || e.Metrics != "http://sample-metrics."+f.namespace+".svc:9150/metrics" ||
		e.Service != "sample."+f.namespace+".svc:11211" {
		t.Errorf("%+v", m.Status)
	}

	// Pods that tell the list hear of it at once, and are no nodes.
	f.runCompanion("discovery")
	f.runCompanion("metrics")
	m = f.eventually(v1alpha1.ConditionAvailable, metav1.ConditionTrue, "AllNodesReady")
	f.expectWrites("running", "PATCH pods/sample-discovery-x", "PATCH pods/sample-metrics-x", "PATCH memcacheds/sample/status")
	if m.Status.Size != 2 || m.Status.Ready != "2/2" || m.Status.Phase != v1alpha1.PhaseRunning {
		t.Errorf("%+v", m.Status)
	}
	if got := read(f, "sample-discovery-x", &corev1.Pod{}).Annotations[nodelist.Annotation]; got != f.list().String() {
		t.Errorf("the pod is told %q", got)
	}
	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.expectWrites("restart")

	// A node moves: one change, told once to each.
	pod := read(f, "sample-z", &corev1.Pod{})
	pod.Status.PodIP, pod.Status.PodIPs = "10.0.0.9", []corev1.PodIP{{IP: "10.0.0.9"}}
	f.must(f.Status().Update(f.ctx, pod))
	f.expectWrites("a node moved", "PATCH configmaps/sample-nodes", "PATCH pods/sample-discovery-x", "PATCH pods/sample-metrics-x")
	if l := f.list(); l.Version != 2 || l.Nodes[1].IP != "10.0.0.9" {
		t.Errorf("%v", l)
	}

	// The version does not fall, whatever happens to the ConfigMap.
	f.must(f.Delete(f.ctx, read(f, "sample-nodes", &corev1.ConfigMap{})))
	f.expectWrites("deleted", "PATCH configmaps/sample-nodes")
	f.patch(read(f, "sample-nodes", &corev1.ConfigMap{}), `{"data":{"nodes.json":"spoiled"}}`)
	f.expectWrites("spoiled", "PATCH configmaps/sample-nodes")
	f.patch(read(f, "sample-discovery-x", &corev1.Pod{}), `{"metadata":{"annotations":null}}`)
	f.expectWrites("annotation removed", "PATCH pods/sample-discovery-x")
	if l := f.list(); l.Version != 2 {
		t.Errorf("%v", l)
	}

	// Discovery alone goes, and the list stays for the metrics; then all goes.
	f.patch(m, `{"spec":{"discovery":null}}`)
	f.expectWrites("no discovery", "DELETE deployments/sample-discovery", "DELETE services/sample-discovery",
		"DELETE poddisruptionbudgets/sample-discovery", "PATCH memcacheds/sample/status")
	f.patch(m, `{"spec":{"monitoring":null}}`)
	f.expectWrites("no monitoring", "DELETE configmaps/sample-nodes", "DELETE deployments/sample-metrics", "DELETE services/sample-metrics",
		"PATCH memcacheds/sample/status")
	if m := read(f, "sample", &v1alpha1.Memcached{}); m.Status.Endpoint != m.Status.Endpoints.Service || m.Status.Endpoints.Metrics != "" {
		t.Errorf("%+v", m.Status)
	}
}

// Names of companions may be taken as any other, and become free.
func TestForeignNodeListIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "sample-nodes"}, Data: map[string]string{"a": "b"}}
	f.must(f.Create(f.ctx, foreign))
	f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](0), Monitoring: &v1alpha1.MemcachedMonitoring{}})
	m := f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NotOwned")
	if after := read(f, "sample-nodes", &corev1.ConfigMap{}); after.ResourceVersion != foreign.ResourceVersion {
		t.Error("a foreign ConfigMap was written")
	}
	f.must(f.Delete(f.ctx, foreign))
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	if l := f.list(); l.Version != 1 || !metav1.IsControlledBy(read(f, "sample-nodes", &corev1.ConfigMap{}), m) {
		t.Errorf("%v", l)
	}
}

func TestWithoutCompanionImage(t *testing.T) {
	f := newFixture(t)
	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace, "--companion-image=")
	m := f.create("sample", v1alpha1.MemcachedSpec{Discovery: &v1alpha1.MemcachedDiscovery{}})
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionTrue, "NoCompanionImage")
	f.expectWrites("nothing to run", "PATCH memcacheds/sample", "PATCH deployments/sample", "PATCH services/sample", "PATCH memcacheds/sample/status")
	// An operator of another test, which knows an image, would go on here.
	f.must(f.Delete(f.ctx, m))
	f.operator.Settle(t)
}

// installServiceMonitors makes the cluster know ServiceMonitors, and returns how to end that.
func (f *fixture) installServiceMonitors() (uninstall func()) {
	f.Helper()
	data, err := os.ReadFile("testdata/servicemonitors-crd.yaml")
	f.must(err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	f.must(yaml.UnmarshalStrict(data, crd))
	scheme := runtime.NewScheme()
	f.must(apiextensionsv1.AddToScheme(scheme))
	f.must(memcached.AddToScheme(scheme))
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	f.must(err)
	f.must(admin.Create(f.ctx, crd))
	removed := false
	ctx := context.WithoutCancel(f.ctx) // it is also called at the end of the test
	uninstall = func() {
		if removed {
			return
		}
		removed = true
		f.must(admin.Delete(ctx, crd))
		f.wait("the definition is gone", func() bool {
			return apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy()))
		})
	}
	f.Cleanup(uninstall)
	return uninstall
}

func (f *fixture) wait(what string, done func() bool) {
	f.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if done() {
			return
		}
	}
	f.Fatalf("it is not so: %s", what)
}

// The kind comes and goes while the operator runs; the resource is as well with as
// without it.
func TestServiceMonitor(t *testing.T) {
	f := newFixture(t)
	monitors, err := client.New(env.Config, client.Options{Scheme: func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		f.must(memcached.AddToScheme(scheme))
		return scheme
	}()})
	f.must(err)
	found := &monitoringv1.ServiceMonitor{}
	isThere := func() bool {
		return monitors.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "sample"}, found) == nil
	}
	m := f.create("sample", v1alpha1.MemcachedSpec{Size: ptr.To[int32](0), Monitoring: &v1alpha1.MemcachedMonitoring{
		ServiceMonitor: &v1alpha1.MemcachedServiceMonitor{Labels: map[string]string{"release": "prometheus"}},
	}})
	f.operator.Settle(t)
	f.operator.Reset()
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "ServiceMonitorUnknown")

	uninstall := f.installServiceMonitors()
	f.wait("the ServiceMonitor is there", isThere)
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "AsExpected")
	f.expectWrites("installed", "PATCH servicemonitors/sample", "PATCH memcacheds/sample/status")
	if !metav1.IsControlledBy(found, m) || found.Labels["release"] != "prometheus" || found.Spec.Endpoints[0].Interval != "30s" {
		t.Errorf("%+v", found)
	}
	for i, patch := range []string{
		`{"spec":{"selector":{"matchLabels":{"app":"hand"}}}}`,
		`{"spec":{"endpoints":[{"port":"hand"}]}}`,
		`{"metadata":{"labels":{"release":null}}}`,
		`{"metadata":{"ownerReferences":null}}`,
		`{"spec":{"jobLabel":null}}`,
	} {
		f.must(monitors.Patch(f.ctx, found, client.RawPatch(types.MergePatchType, []byte(patch))))
		f.expectWrites(fmt.Sprintf("hand edit %d", i), "PATCH servicemonitors/sample")
	}
	f.must(monitors.Patch(f.ctx, found, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"foreign":"x"}}}`))))
	f.expectWrites("foreign annotation")
	f.operator.Stop(t)
	f.operator = start(t, "--watch-namespaces="+f.namespace)
	f.operator.Settle(t)
	f.expectWrites("restart")

	uninstall()
	f.eventually(v1alpha1.ConditionDegraded, metav1.ConditionFalse, "ServiceMonitorUnknown")
	f.expectWrites("uninstalled", "PATCH memcacheds/sample/status")
	f.patch(m, `{"spec":{"maxConnections":100}}`)
	f.expectWrites("the operator goes on", "PATCH deployments/sample", "PATCH memcacheds/sample/status")

	f.installServiceMonitors()
	f.wait("the ServiceMonitor is there again", isThere)
	f.operator.Settle(t)
	f.operator.Reset()
	f.patch(m, `{"spec":{"monitoring":{"serviceMonitor":{"intervalSeconds":5}}}}`)
	f.expectWrites("changed", "PATCH servicemonitors/sample", "PATCH memcacheds/sample/status")
	f.patch(m, `{"spec":{"monitoring":{"serviceMonitor":null}}}`)
	f.expectWrites("unset", "DELETE servicemonitors/sample", "PATCH memcacheds/sample/status")
	for _, request := range f.operator.Reads() {
		if strings.Contains(request, "servicemonitors/") {
			t.Errorf("read past the cache: %s", request)
		}
	}
}
