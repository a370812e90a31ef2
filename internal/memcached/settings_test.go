// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// nodeOf is a pod as the template of m makes it.
func nodeOf(m *v1alpha1.Memcached) *corev1.Pod {
	template := podTemplate(m, testImages)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sample-0", Labels: template.Labels, Annotations: template.Annotations}}
}

// Every field of the spec restarts nodes, or changes them while they run, or touches no
// pod. A new field fails here until somebody has decided.
func TestEveryFieldIsDecided(t *testing.T) {
	const restart, live, untouched = "restart", "live", "untouched"
	fields := map[string]struct {
		what   string
		change func(*v1alpha1.MemcachedSpec)
	}{
		"size":            {untouched, func(s *v1alpha1.MemcachedSpec) { s.Size = ptr.To[int32](5) }},
		"image":           {restart, func(s *v1alpha1.MemcachedSpec) { s.Image = "memcached:2" }},
		"containerPort":   {restart, func(s *v1alpha1.MemcachedSpec) { s.ContainerPort = 11311 }},
		"workload":        {untouched, stateful},
		"memory":          {live, func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse("96Mi") }},
		"maxConnections":  {restart, func(s *v1alpha1.MemcachedSpec) { s.MaxConnections = 4096 }},
		"threads":         {restart, func(s *v1alpha1.MemcachedSpec) { s.Threads = 8 }},
		"maxItemSize":     {restart, func(s *v1alpha1.MemcachedSpec) { s.MaxItemSize = resource.MustParse("2Mi") }},
		"extraArgs":       {restart, func(s *v1alpha1.MemcachedSpec) { s.ExtraArgs = []string{"-v"} }},
		"resources":       {live, func(s *v1alpha1.MemcachedSpec) { s.Resources.Limits = ofMemory("1Gi") }},
		"tls":             {restart, func(s *v1alpha1.MemcachedSpec) { s.TLS = &v1alpha1.MemcachedTLS{SecretName: "certificate"} }},
		"auth":            {restart, func(s *v1alpha1.MemcachedSpec) { s.Auth = &v1alpha1.MemcachedAuth{SecretName: "users"} }},
		"service":         {untouched, func(s *v1alpha1.MemcachedSpec) { s.Service.Type = v1alpha1.ServiceClusterIP }},
		"discovery":       {untouched, func(s *v1alpha1.MemcachedSpec) { s.Discovery = &v1alpha1.MemcachedDiscovery{Replicas: 2} }},
		"monitoring":      {untouched, func(s *v1alpha1.MemcachedSpec) { s.Monitoring = &v1alpha1.MemcachedMonitoring{Port: 9150} }},
		"disruption":      {untouched, func(s *v1alpha1.MemcachedSpec) { s.Disruption = &v1alpha1.MemcachedDisruption{} }},
		"networkPolicy":   {untouched, func(s *v1alpha1.MemcachedSpec) { s.NetworkPolicy = &v1alpha1.MemcachedNetworkPolicy{} }},
		"minReadySeconds": {untouched, func(s *v1alpha1.MemcachedSpec) { s.MinReadySeconds = 5 }},
		"warmup":          {untouched, func(s *v1alpha1.MemcachedSpec) { s.Warmup = &v1alpha1.MemcachedWarmup{HitRatePercent: 80} }},
		"flush":           {untouched, func(s *v1alpha1.MemcachedSpec) { s.Flush = &v1alpha1.MemcachedFlush{Token: "1"} }},
		"podMetadata":     {restart, func(s *v1alpha1.MemcachedSpec) { s.PodMetadata.Labels = map[string]string{"team": "web"} }},
		"nodeSelector":    {restart, func(s *v1alpha1.MemcachedSpec) { s.NodeSelector = map[string]string{"disk": "none"} }},
		"tolerations":     {restart, func(s *v1alpha1.MemcachedSpec) { s.Tolerations = []corev1.Toleration{{Key: "dedicated"}} }},
		"affinity":        {restart, func(s *v1alpha1.MemcachedSpec) { s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}} }},
		"topologySpreadConstraints": {restart, func(s *v1alpha1.MemcachedSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "zone"}}
		}},
		"priorityClassName":  {restart, func(s *v1alpha1.MemcachedSpec) { s.PriorityClassName = "important" }},
		"imagePullSecrets":   {restart, func(s *v1alpha1.MemcachedSpec) { s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}} }},
		"serviceAccountName": {restart, func(s *v1alpha1.MemcachedSpec) { s.ServiceAccountName = "cache" }},
	}
	for field := range reflect.TypeFor[v1alpha1.MemcachedSpec]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		f, decided := fields[name]
		if !decided {
			t.Errorf("spec.%s: does a change of it restart the nodes? Decide in settings.go, and tell this test", name)
			continue
		}
		delete(fields, name)
		t.Run(name, func(t *testing.T) {
			before, after := sample(), sample(f.change)
			was := before.Spec.DeepCopy()
			f.change(was)
			if reflect.DeepEqual(before.Spec, *was) {
				t.Fatal("this test changes nothing")
			}
			pod := nodeOf(before)
			if got := len(changedSettings(after, pod)) > 0; got != (f.what == restart) {
				t.Errorf("it restarts nodes: %t", got)
			}
			had, wanted := podTemplate(before, testImages), podTemplate(after, testImages)
			if got := had.Annotations[annotationTemplate] != wanted.Annotations[annotationTemplate]; f.what != restart && got {
				t.Error("it changes the template in what no running pod can get")
			}
			if got := !reflect.DeepEqual(had, wanted); got != (f.what != untouched) {
				t.Errorf("it changes the template: %t", got)
			}
		})
	}
	for name := range fields {
		t.Errorf("there is no spec.%s", name)
	}
}

func ofMemory(quantity string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(quantity)}
}

func TestWordsOfChanges(t *testing.T) {
	from := func(*v1alpha1.MemcachedSpec) {}
	for _, test := range []struct {
		name     string
		from, to func(*v1alpha1.MemcachedSpec)
		want     string
	}{
		{"none", from, from, ""},
		{"image", from, func(s *v1alpha1.MemcachedSpec) { s.Image = "a:2" }, "image none → a:2"},
		{"back to the default image", func(s *v1alpha1.MemcachedSpec) { s.Image = "a:2" }, from, "image a:2 → none"},
		{"two, in order", from, func(s *v1alpha1.MemcachedSpec) { s.Threads, s.MaxConnections = 8, 2048 }, "maxConnections 1024 → 2048, threads 4 → 8"},
		{"long ones are not told", from, everything,
			"containerPort 11211 → 11311, extraArgs, image none → registry.example.com:5000/memcached@sha256:0123," +
				" maxConnections 1024 → 4096, maxItemSize 1Mi → 512Ki, podMetadata, scheduling, threads 4 → 8"},
		{"tls", from, withTLS(v1alpha1.ClientAuthRequire), "tls none → certificate (clientAuth Require)"},
		{"auth", withAuth, from, "auth users → none"},
		{"the same size in other words", from, func(s *v1alpha1.MemcachedSpec) { s.MaxItemSize = resource.MustParse("1024Ki") }, ""},
		{"memory is changed live", from, func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse("1Gi") }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(changedSettings(sample(test.to), nodeOf(sample(test.from))), ", "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A node is restarted for what the user has changed: not for settings that the operator
// which started it did not know, nor for those that this one does not.
func TestOtherOperatorsSettings(t *testing.T) {
	m := sample(func(s *v1alpha1.MemcachedSpec) { s.Threads = 8 })
	for name, test := range map[string]struct{ annotation, want string }{
		"the same":              {encodeSettings(m), ""},
		"an older operator's":   {`{"image":"","threads":"8"}`, ""},
		"an older one, changed": {`{"threads":"4"}`, "threads 4 → 8"},
		"a newer operator's":    {`{"threads":"8","color":"red"}`, ""},
		"none":                  {"", ""},
		"broken":                {"{", ""},
		"of another form":       {`{"threads":4}`, ""},
		"null":                  {"null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := nodeOf(sample())
			pod.Annotations[annotationSettings] = test.annotation
			if got := strings.Join(changedSettings(m, pod), ", "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestNodeAnnotationsAreOurs(t *testing.T) {
	ours := []string{annotationSettings, annotationMemory, annotationTemplate}
	m := sample(func(s *v1alpha1.MemcachedSpec) {
		s.PodMetadata.Annotations = map[string]string{"example.com/note": "x"}
		for _, name := range ours {
			s.PodMetadata.Annotations[name] = "1"
		}
	})
	got := podTemplate(m, testImages).Annotations
	if got["example.com/note"] != "x" || got[annotationMemory] != "64" || !json.Valid([]byte(got[annotationSettings])) || got[annotationTemplate] == "1" {
		t.Errorf("%v", got)
	}
	if len(m.Spec.PodMetadata.Annotations) != 4 || m.Spec.PodMetadata.Annotations[annotationMemory] != "1" {
		t.Errorf("the spec was changed: %v", m.Spec.PodMetadata.Annotations)
	}
}

func TestTemplateDigest(t *testing.T) {
	render := func(image string, change ...func(*v1alpha1.MemcachedSpec)) map[string]string {
		return podTemplate(sample(change...), images{memcached: image, companion: "example.com/operator:1"}).Annotations
	}
	was := render("a:1")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: was}}
	larger := func(s *v1alpha1.MemcachedSpec) {
		s.Memory, s.Resources.Limits = resource.MustParse("1Gi"), ofMemory("2Gi")
	}
	if isOfOlderTemplate(pod, render("a:1")) || isOfOlderTemplate(pod, render("a:1", larger)) || isOfOlderTemplate(pod, nil) {
		t.Error("the same template, or another size, is another template")
	}
	if !isOfOlderTemplate(pod, render("a:2")) || !isOfOlderTemplate(&corev1.Pod{}, was) {
		t.Error("another template is not told")
	}
	spec := podTemplate(sample(), testImages).Spec
	before := len(spec.Containers[0].Args)
	templateDigest(spec)
	if spec.Containers[0].Resources == nil || len(spec.Containers[0].Args) != before {
		t.Error("the template was changed")
	}
}

func TestImageOfRunningNodes(t *testing.T) {
	const old, current = "memcached:old", "memcached:current"
	threads := func(s *v1alpha1.MemcachedSpec) { s.Threads = 8 }
	larger := func(s *v1alpha1.MemcachedSpec) { s.Memory = resource.MustParse("1Gi") }
	for _, workload := range []func(*v1alpha1.MemcachedSpec){stateful, func(*v1alpha1.MemcachedSpec) {}} {
		started := sample(workload)
		seen := world(started, 3, 3)
		if started.Spec.Workload == v1alpha1.WorkloadStatefulSet {
			seen = asStatefulSet(started, seen)
		}
		template := seen.template(started)
		if template == nil {
			t.Fatal("no template")
		}
		template.Annotations = podTemplate(started, testImages).Annotations
		template.Spec.Containers = []corev1.Container{{Name: "injected", Image: "mesh:1"}, {Name: containerName, Image: old}}
		for name, test := range map[string]struct {
			m    *v1alpha1.Memcached
			want string
		}{
			"the same settings": {sample(workload), old},
			"another size":      {sample(workload, larger), old},
			"another setting":   {sample(workload, threads), current},
			"an image":          {sample(workload, func(s *v1alpha1.MemcachedSpec) { s.Image = "mine:1" }), "mine:1"},
		} {
			if got := imageOf(test.m, seen, current); got != test.want {
				t.Errorf("%s, %s: %s, want %s", started.Spec.Workload, name, got, test.want)
			}
		}
		template.Spec.Containers = template.Spec.Containers[:1]
		if got := imageOf(started, seen, current); got != current {
			t.Errorf("a template without the container: %s", got)
		}
	}
	if got := imageOf(sample(), &observed{}, current); got != current {
		t.Errorf("new: %s", got)
	}
}

// A value that is only told as a digest still tells one from another.
func TestDigest(t *testing.T) {
	seen := map[string]bool{}
	for _, value := range []any{nil, []string{"a"}, []string{"b"}, []string{"a", "b"}, []string{"ab"}, map[string]string{"a": "b"}} {
		seen[digest(value)] = true
	}
	if len(seen) != 6 || !slices.Contains([]string{digest([]string{"a"})}, digest([]string{"a"})) {
		t.Errorf("%v", seen)
	}
}
