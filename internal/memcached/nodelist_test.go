// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/companion/nodelist"
)

// podsFrom reads pods from a text: names, each with the last part of its address (none
// yet: -), and ! if it is not ready, ~ if it is being deleted. A number for a name is
// that of a StatefulSet's pod.
func podsFrom(t *testing.T, text string) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	for word := range strings.FieldsSeq(text) {
		name, address, ok := strings.Cut(strings.TrimRight(word, "!~"), "=")
		if !ok {
			t.Fatalf("%q has no address", word)
		}
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "sample-" + name, Labels: map[string]string{"app": "memcached"}}}
		if _, err := strconv.Atoi(name); err == nil {
			pod.Labels[appsv1.PodIndexLabel] = name
		}
		if address != "-" {
			pod.Status.PodIP = "10.0.0." + address
		}
		if strings.Contains(word, "~") {
			pod.DeletionTimestamp = ptr.To(metav1.Now())
		}
		if !strings.Contains(word, "!") {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}
		pods = append(pods, pod)
	}
	return pods
}

// told is a list in the same words: names with addresses, behind the version.
func told(l nodelist.List) string {
	words := []string{fmt.Sprint(l.Version)}
	for _, n := range l.Nodes {
		words = append(words, strings.TrimPrefix(n.Name, "sample-")+"="+strings.TrimPrefix(n.IP, "10.0.0."))
	}
	return strings.Join(words, " ")
}

// A story is what happens to a cluster, and what its clients are told after each step.
func TestNodeListRules(t *testing.T) {
	type step struct {
		size int32
		pods string
		want string
	}
	const (
		deployment  = v1alpha1.WorkloadDeployment
		statefulSet = v1alpha1.WorkloadStatefulSet
	)
	for _, story := range []struct {
		name  string
		kind  v1alpha1.MemcachedWorkload
		steps []step
	}{
		{"there is no list before all nodes are ready", statefulSet, []step{
			{3, "", "0"},
			{3, "0=1", "0"},
			{3, "0=1 1=2! 2=-!", "0"},
			{3, "0=1 1=2 2=3", "1 0=1 1=2 2=3"},
		}},
		{"nobody is wanted", statefulSet, []step{{0, "", "1"}, {1, "0=1!", "1"}, {1, "0=1", "2 0=1"}}},
		{"scaling out is one change", statefulSet, []step{
			{3, "0=1 1=2 2=3", "1 0=1 1=2 2=3"},
			{5, "0=1 1=2 2=3", "1 0=1 1=2 2=3"},
			{5, "0=1 1=2 2=3 3=4 4=5!", "1 0=1 1=2 2=3"},
			{5, "0=1 1=2 2=3 3=4! 4=5", "1 0=1 1=2 2=3"},
			{5, "0=1 1=2 2=3 3=4 4=5", "2 0=1 1=2 2=3 3=4 4=5"},
		}},
		{"scaling in is one change, at once", statefulSet, []step{
			{5, "0=1 1=2 2=3 3=4 4=5", "1 0=1 1=2 2=3 3=4 4=5"},
			{2, "0=1 1=2 2=3 3=4 4=5", "2 0=1 1=2"},
			{2, "0=1 1=2 2=3~", "2 0=1 1=2"},
			{2, "0=1 1=2", "2 0=1 1=2"},
		}},
		{"in and out again", statefulSet, []step{
			{3, "0=1 1=2 2=3", "1 0=1 1=2 2=3"},
			{2, "0=1 1=2 2=3", "2 0=1 1=2"},
			{3, "0=1 1=2 2=3~", "2 0=1 1=2"},
			{3, "0=1 1=2 2=9!", "2 0=1 1=2"},
			{3, "0=1 1=2 2=9", "3 0=1 1=2 2=9"},
		}},
		{"numbers are numbers", statefulSet, []step{
			{11, "0=1 1=2 10=11 2=3 3=4 4=5 5=6 6=7 7=8 8=9 9=10", "1 0=1 1=2 2=3 3=4 4=5 5=6 6=7 7=8 8=9 9=10 10=11"},
		}},
		{"a node that is not ready stays", statefulSet, []step{
			{2, "0=1 1=2", "1 0=1 1=2"}, {2, "0=1! 1=2", "1 0=1 1=2"}, {2, "0=1! 1=2!", "1 0=1 1=2"},
		}},
		{"a node that is replaced stays under its name", statefulSet, []step{
			{2, "0=1 1=2", "1 0=1 1=2"},
			{2, "0=1~ 1=2", "1 0=1 1=2"},
			{2, "1=2", "1 0=1 1=2"},
			{2, "0=-! 1=2", "1 0=1 1=2"},
			{2, "0=7! 1=2", "2 0=7 1=2"},
			{2, "0=7 1=2", "2 0=7 1=2"},
		}},
		{"all nodes are replaced", statefulSet, []step{
			{2, "0=1 1=2", "1 0=1 1=2"}, {2, "", "1 0=1 1=2"}, {2, "0=3! 1=-!", "2 0=3 1=2"}, {2, "0=3 1=4", "3 0=3 1=4"},
		}},
		{"a node is replaced while others come", statefulSet, []step{
			{2, "0=1 1=2", "1 0=1 1=2"}, {3, "0=7! 1=2 2=3!", "2 0=7 1=2"}, {3, "0=7! 1=2 2=3", "3 0=7 1=2 2=3"},
		}},

		{"a Deployment is ordered by name", deployment, []step{
			{3, "c=3", "0"}, {3, "c=3 a=1!", "0"}, {3, "c=3 a=1 b=2", "1 a=1 b=2 c=3"},
			{3, "b=2! c=3 a=1", "1 a=1 b=2 c=3"},
		}},
		{"a Deployment grows in one change", deployment, []step{
			{2, "a=1 c=3", "1 a=1 c=3"}, {4, "a=1 b=2 c=3 d=4!", "1 a=1 c=3"}, {4, "a=1 b=2 c=3 d=4", "2 a=1 b=2 c=3 d=4"},
		}},
		{"a Deployment shrinks in one change", deployment, []step{
			{4, "a=1 b=2 c=3 d=4", "1 a=1 b=2 c=3 d=4"},
			{2, "a=1 b=2 c=3 d=4", "1 a=1 b=2 c=3 d=4"},
			{2, "a=1 b=2~ c=3 d=4", "1 a=1 b=2 c=3 d=4"},
			{2, "a=1 b=2~ c=3 d=4~", "2 a=1 c=3"},
			{0, "a=1~ c=3~", "3"},
		}},
		{"a rolling update takes one change for a pod", deployment, []step{
			{2, "a=1 b=2", "1 a=1 b=2"},
			{2, "a=1 b=2 x=8!", "1 a=1 b=2"},
			{2, "a=1 b=2 x=8", "1 a=1 b=2"},
			{2, "a=1~ b=2 x=8", "2 b=2 x=8"},
			{2, "b=2 x=8 y=9!", "2 b=2 x=8"},
			{2, "b=2~ x=8 y=9", "3 x=8 y=9"},
		}},
		{"a pod of a Deployment is lost", deployment, []step{
			{2, "a=1 b=2", "1 a=1 b=2"}, {2, "a=1 b=2~", "2 a=1"}, {2, "a=1 c=3!", "2 a=1"}, {2, "a=1 c=3", "3 a=1 c=3"},
		}},
		{"all pods of a Deployment are lost", deployment, []step{
			{2, "a=1 b=2", "1 a=1 b=2"}, {2, "", "1 a=1 b=2"}, {2, "c=3 d=4!", "1 a=1 b=2"}, {2, "c=3 d=4", "2 c=3 d=4"},
		}},

		{"from a Deployment to a StatefulSet", statefulSet, []step{
			{2, "a=1 b=2", "0"}, // set up below
			{2, "a=1 b=2 0=3 1=4!", "1 a=1 b=2"},
			{2, "a=1 b=2 0=3 1=4", "2 0=3 1=4"},
			{2, "a=1~ 0=3 1=4", "2 0=3 1=4"},
		}},
		{"from a StatefulSet to a Deployment", deployment, []step{
			{2, "0=3 1=4", "0"},
			{2, "0=3 1=4 a=1", "1 0=3 1=4"},
			{2, "0=3 1=4 a=1 b=2", "2 a=1 b=2"},
			{2, "0=3! a=1 b=2", "2 a=1 b=2"},
		}},
	} {
		t.Run(story.name, func(t *testing.T) {
			m := sample(func(s *v1alpha1.MemcachedSpec) { s.Workload = story.kind })
			var last nodelist.List
			for i, step := range story.steps {
				pods := sorted(podsOf(nil, podsFrom(t, step.pods)))
				if i == 0 && strings.HasPrefix(story.name, "from ") {
					other := sample(func(s *v1alpha1.MemcachedSpec) {
						s.Workload = deployment
						if story.kind == deployment {
							s.Workload = statefulSet
						}
					})
					last = nextList(last, other, pods, step.size)
					continue
				}
				last = nextList(last, m, pods, step.size)
				if got := told(last); got != step.want {
					t.Errorf("step %d (size %d, %s): %s, want %s", i, step.size, step.pods, got, step.want)
				}
				if same := nextList(last, m, pods, step.size); same.Version != last.Version {
					t.Errorf("step %d: the same pods are another version: %s", i, told(same))
				}
				for _, n := range last.Nodes {
					if story.kind == statefulSet && n.Name != "sample-a" && n.Name != "sample-b" && n.Host != n.Name+".sample.default.svc" ||
						story.kind == deployment && n.Name != "sample-0" && n.Name != "sample-1" && n.Host != n.IP {
						t.Errorf("step %d: %+v", i, n)
					}
				}
				if last.Version > 0 {
					if _, err := nodelist.Parse([]byte(last.String())); err != nil {
						t.Errorf("step %d: %v", i, err)
					}
				}
			}
		})
	}
}

// While the port changes, each node is told where it listens.
func TestNodeListTellsThePortOfThePod(t *testing.T) {
	m := sample(stateful, func(s *v1alpha1.MemcachedSpec) { s.ContainerPort = 11311 })
	pods := podsFrom(t, "0=1 1=2")
	pods[0].Spec.Containers = []corev1.Container{
		{Name: "sidecar", Ports: []corev1.ContainerPort{{Name: portName, ContainerPort: 1}}},
		{Name: containerName, Ports: []corev1.ContainerPort{{Name: "other", ContainerPort: 2}, {Name: portName, ContainerPort: 11211}}},
	}
	l := nextList(nodelist.List{}, m, pods, 2)
	if l.Nodes[0].Port != 11211 || l.Nodes[1].Port != 11311 {
		t.Errorf("%+v", l)
	}
}

// The version survives a ConfigMap that somebody has deleted or spoiled.
func TestLastListIsTheNewestCopy(t *testing.T) {
	m := sample()
	owned := metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: m.UID, Controller: ptr.To(true)}}}
	list := func(version int) string { return fmt.Sprintf(`{"version":%d,"nodes":[]}`, version) }
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{nodelist.Annotation: list(6)}}}
	for _, test := range []struct {
		name string
		seen observed
		want int64
	}{
		{"nothing", observed{}, 0},
		{"ConfigMap", observed{nodeList: &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{nodelist.File: list(5)}}}, 5},
		{"somebody else's", observed{nodeList: &corev1.ConfigMap{Data: map[string]string{nodelist.File: list(5)}}}, 0},
		{"no ConfigMap", observed{companions: []corev1.Pod{{}, pod}}, 6},
		{"spoiled", observed{companions: []corev1.Pod{pod}, nodeList: &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{nodelist.File: "x"}}}, 6},
		{"older", observed{companions: []corev1.Pod{pod}, nodeList: &corev1.ConfigMap{ObjectMeta: owned, Data: map[string]string{nodelist.File: list(7)}}}, 7},
	} {
		if got := lastList(m, &test.seen).Version; got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
