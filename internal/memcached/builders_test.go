// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/golden"
)

// sample is a resource as the API server returns it: with the schema's defaults.
func sample(change ...func(*v1alpha1.MemcachedSpec)) *v1alpha1.Memcached {
	m := &v1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sample", UID: "sample-uid", Generation: 1},
		Spec: v1alpha1.MemcachedSpec{
			Size:           ptr.To[int32](3),
			ContainerPort:  11211,
			Workload:       v1alpha1.WorkloadDeployment,
			Memory:         resource.MustParse("64Mi"),
			MaxConnections: 1024,
			Threads:        4,
			MaxItemSize:    resource.MustParse("1Mi"),
			Service:        v1alpha1.MemcachedService{Type: v1alpha1.ServiceHeadless},
		},
	}
	for _, c := range change {
		c(&m.Spec)
	}
	return m
}

// everything sets every field that this version supports.
func everything(s *v1alpha1.MemcachedSpec) {
	s.Image = "registry.example.com:5000/memcached@sha256:0123"
	s.ContainerPort = 11311
	s.Memory = resource.MustParse("1Gi")
	s.MaxConnections = 4096
	s.Threads = 8
	s.MaxItemSize = resource.MustParse("512Ki")
	s.ExtraArgs = []string{"-o", "modern"}
	s.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1100Mi")},
	}
	s.Service.Type = v1alpha1.ServiceClusterIP
	s.Discovery = &v1alpha1.MemcachedDiscovery{Replicas: 3, Port: 11212, HTTPPort: 80}
	s.Monitoring = &v1alpha1.MemcachedMonitoring{Port: 9151, ServiceMonitor: &v1alpha1.MemcachedServiceMonitor{
		IntervalSeconds: 15, Labels: map[string]string{"release": "prometheus", "app": "mine"},
	}}
	s.MinReadySeconds = 5
	s.Disruption = &v1alpha1.MemcachedDisruption{MaxUnavailable: ptr.To(intstr.FromString("25%"))}
	s.NetworkPolicy = &v1alpha1.MemcachedNetworkPolicy{From: []networkingv1.NetworkPolicyPeer{{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}},
	}}}
	s.PodMetadata = v1alpha1.MemcachedPodMetadata{
		Labels:      map[string]string{"team": "web", "app.kubernetes.io/managed-by": "me"},
		Annotations: map[string]string{"example.com/note": "x"},
	}
	s.NodeSelector = map[string]string{"disk": "none"}
	s.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelTopologyZone,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "memcached"}},
		}},
	}}
	s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 2, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "memcached"}},
	}}
	s.PriorityClassName = "important"
	s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	s.ServiceAccountName = "cache"
}

func TestBuilders(t *testing.T) {
	for name, m := range map[string]*v1alpha1.Memcached{
		"defaults":   sample(),
		"everything": sample(everything),
	} {
		t.Run(name, func(t *testing.T) {
			run := images{memcached: imageOf(m, &observed{}, DefaultImage), companion: testImages.companion}
			golden.YAML(t, "deployment-"+name, deployment(m, run))
			golden.YAML(t, "statefulset-"+name, statefulSet(m, run))
			golden.YAML(t, "service-"+name, service(m))
			if m.Spec.Disruption == nil {
				return
			}
			golden.YAML(t, "poddisruptionbudget-"+name, podDisruptionBudget(m))
			golden.YAML(t, "networkpolicy-"+name, networkPolicy(m, "memcached-operator-system"))
			golden.YAML(t, "servicemonitor-"+name, serviceMonitor(m))
			for component, c := range map[string]*companion{"discovery": discoveryCompanion(m), "metrics": metricsCompanion(m)} {
				golden.YAML(t, component+"-deployment-"+name, c.deployment(m, "example.com/operator:1"))
				golden.YAML(t, component+"-service-"+name, c.service(m))
				golden.YAML(t, component+"-networkpolicy-"+name, c.networkPolicy(m))
			}
			golden.YAML(t, "discovery-poddisruptionbudget-"+name, discoveryCompanion(m).budget(m))
		})
	}
}

// Selectors are immutable, so nothing but the name may decide about them.
func TestSelectorDependsOnNameOnly(t *testing.T) {
	a, b := deployment(sample(), images{memcached: "a:1"}).Spec.Selector, deployment(sample(everything), images{memcached: "b:2"}).Spec.Selector
	if len(a.MatchLabels) != 2 || a.MatchLabels["memcached_cr"] != "sample" || b.MatchLabels["memcached_cr"] != "sample" {
		t.Errorf("%v, %v", a.MatchLabels, b.MatchLabels)
	}
}

func TestSizeIsLeftAloneWithoutOne(t *testing.T) {
	if got := deployment(sample(func(s *v1alpha1.MemcachedSpec) { s.Size = nil }), images{}).Spec.Replicas; got != nil {
		t.Errorf("replicas %d", *got)
	}
	if got := deployment(sample(func(s *v1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](0) }), images{}).Spec.Replicas; got == nil || *got != 0 {
		t.Error("a size of 0 must be set")
	}
}

func TestResources(t *testing.T) {
	quantity := func(s string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(s)}
	}
	tests := []struct {
		name           string
		change         func(*v1alpha1.MemcachedSpec)
		request, limit string
	}{
		{"defaults", func(*v1alpha1.MemcachedSpec) {}, "120Mi", "120Mi"},
		{"more memory", func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse("1Gi") }, "1200Mi", "1200Mi"},
		{"more connections", func(s *v1alpha1.MemcachedSpec) { s.MaxConnections = 10_000 }, "261Mi", "261Mi"},
		{"more threads", func(s *v1alpha1.MemcachedSpec) { s.Threads = 8 }, "136Mi", "136Mi"},
		{"odd memory", func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse("100M") }, "156Mi", "156Mi"},
		{"own limit", func(s *v1alpha1.MemcachedSpec) { s.Resources.Limits = quantity("1Gi") }, "120Mi", "1Gi"},
		{"own small limit", func(s *v1alpha1.MemcachedSpec) { s.Resources.Limits = quantity("80Mi") }, "80Mi", "80Mi"},
		{"own request", func(s *v1alpha1.MemcachedSpec) { s.Resources.Requests = quantity("64Mi") }, "64Mi", "120Mi"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := resourcesOf(sample(test.change))
			if got := r.Requests.Memory().String(); got != test.request {
				t.Errorf("request %s, want %s", got, test.request)
			}
			if got := r.Limits.Memory().String(); got != test.limit {
				t.Errorf("limit %s, want %s", got, test.limit)
			}
			if _, limited := r.Limits[corev1.ResourceCPU]; limited || r.Requests.Cpu().IsZero() {
				t.Errorf("CPU %v", r)
			}
		})
	}
}
