// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// deployed is the page's Deployment, of which so many pods are ready.
func deployed(m *v1alpha1.MaintPage, replicas, ready int32) func(*observed) {
	return func(seen *observed) {
		seen.pageDeployment = &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: pageName(m), OwnerReferences: ownedBy(m), Generation: 1},
			Spec:       appsv1.DeploymentSpec{Replicas: ptr.To(replicas)},
			Status:     deploymentStatus(ready),
		}
		for i := range ready {
			seen.pagePods = append(seen.pagePods, readyPage(m, seen, func(p *corev1.Pod) {
				p.Name, p.OwnerReferences = fmt.Sprintf("%s-%d", pageName(m), i), nil
			}))
		}
	}
}

// planned is what planPage wants of the pod and of the Deployment.
func planned(m *v1alpha1.MaintPage, seen *observed) string {
	p := plan{}
	p.planPage(m, seen, testImage, "")
	pod, deployment := "-", "-"
	switch {
	case p.pod.Writes():
		pod = "write"
	case p.pod.Removes():
		pod = "remove"
	}
	for _, n := range []int32{1, 3} {
		if reflect.DeepEqual(p.pageDeployment, apply.Write(pageDeployment(m, testImage, pagePorts(m, seen), n))) {
			deployment = fmt.Sprint(n)
		}
	}
	if p.pageDeployment.Removes() {
		deployment = "remove"
	}
	return pod + " " + deployment
}

func TestPlanPage(t *testing.T) {
	one, three := sample(), sample(threePages)
	soon, past := noon.Add(10*time.Second), noon.Add(-time.Second)
	type changes = []func(*observed)
	tests := []struct {
		name string
		m    *v1alpha1.MaintPage
		seen changes
		// what is wanted of the pod and of the Deployment, without traffic and with it
		idle, serving string
	}{
		{"none yet", one, changes{noPage(one)}, "write -", "write -"},
		{"not ready yet", one, changes{withPage(one, notReady)}, "write -", "write -"},
		{"ready", one, nil, "write -", "write -"},
		{"outdated", one, changes{withPage(one, outdated)}, "remove -", "- 1"},
		{"outdated, stand-in not ready", one, changes{withPage(one, outdated), deployed(one, 1, 0)}, "remove 1", "- 1"},
		{"outdated, stand-in ready", one, changes{withPage(one, outdated), deployed(one, 1, 1)}, "remove 1", "remove 1"},
		{"replaced, new one not ready", one, changes{withPage(one, notReady), deployed(one, 1, 1)}, "write 1", "write 1"},
		{"replaced, new one ready", one, changes{withPage(one), deployed(one, 1, 1)}, "write remove", "write remove"},
		{"going", one, changes{withPage(one, goneAt(soon))}, "remove -", "- 1"},
		{"gone, stand-in ready", one, changes{noPage(one), deployed(one, 1, 1)}, "write 1", "write 1"},
		{"lost node", one, changes{withPage(one, goneAt(past))}, "remove 1", "- 1"},
		{"ended", one, changes{withPage(one, ended)}, "remove -", "remove 1"},
		{"several, none yet", three, changes{noPage(three)}, "- 3", "- 3"},
		{"several", three, changes{noPage(three), deployed(three, 3, 3)}, "- 3", "- 3"},
		{"from one to three", three, nil, "- 3", "- 3"},
		{"from one to three, not all are up", three, changes{deployed(three, 3, 2)}, "- 3", "- 3"},
		{"from one to three, all are up", three, changes{deployed(three, 3, 3)}, "remove 3", "remove 3"},
		{"from three to one", one, changes{noPage(one), deployed(one, 3, 3)}, "write 1", "write 1"},
		{"from three to one, not up yet", one, changes{withPage(one, notReady), deployed(one, 3, 3)}, "write 1", "write 1"},
		{"from three to one, up", one, changes{withPage(one), deployed(one, 1, 1)}, "write remove", "write remove"},
		{"somebody else's pod", one, changes{withPage(one, func(p *corev1.Pod) { p.OwnerReferences = nil })}, "write -", "write -"},
		{"somebody else's Deployment", one, changes{deployed(one, 1, 1), func(seen *observed) { seen.pageDeployment.OwnerReferences = nil }}, "write -", "write -"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := planned(test.m, world(test.m, test.seen...)); got != test.idle {
				t.Errorf("without traffic: %s, want %s", got, test.idle)
			}
			if got := planned(test.m, world(test.m, append(test.seen, atPage(test.m))...)); got != test.serving {
				t.Errorf("with traffic: %s, want %s", got, test.serving)
			}
		})
	}
}

// From every state that there can be, the last pod that serves visitors stays until
// another one does, and the end is the one that is wanted.
func TestThePageStaysUp(t *testing.T) {
	pods := map[string][]func(*corev1.Pod){
		"absent": nil, "ready": {}, "not ready": {notReady}, "outdated": {outdated}, "outdated and not ready": {outdated, notReady},
		"going": {goneAt(noon.Add(10 * time.Second))}, "lost": {goneAt(noon.Add(-time.Second))}, "ended": {ended},
	}
	for _, m := range []*v1alpha1.MaintPage{sample(), sample(threePages)} {
		for name, change := range pods {
			for _, stand := range []struct{ replicas, ready int32 }{{0, 0}, {1, 0}, {1, 1}, {3, 1}, {3, 3}} {
				t.Run(fmt.Sprintf("%d wanted, pod %s, %d of %d deployed", m.Spec.Page.Replicas, name, stand.ready, stand.replicas), func(t *testing.T) {
					seen := world(m, noPage(m), atPage(m))
					if change != nil {
						withPage(m, change...)(seen)
					}
					if stand.replicas > 0 {
						deployed(m, stand.replicas, stand.ready)(seen)
					}
					keepsServing(t, m, seen)
				})
			}
		}
	}
}

// keepsServing carries plans out until nothing changes.
func keepsServing(t *testing.T, m *v1alpha1.MaintPage, seen *observed) {
	t.Helper()
	var trace []string
	for range 10 {
		podServes := seen.pod != nil && seen.pod.Status.Conditions[0].Status == corev1.ConditionTrue && seen.pod.DeletionTimestamp.IsZero()
		deployedServe := seen.pageDeployment != nil && seen.pageDeployment.Status.ReadyReplicas > 0
		p := plan{}
		p.planPage(m, seen, testImage, "")
		trace = append(trace, planned(m, seen))
		if podServes && !deployedServe && p.pod.Removes() || deployedServe && !podServes && p.pageDeployment.Removes() {
			t.Fatalf("the last one is removed: %q", trace)
		}
		var pods []corev1.Pod
		switch {
		case seen.pod != nil && (p.pod.Removes() || !seen.pod.DeletionTimestamp.IsZero()):
		case p.pod.Writes() || seen.pod != nil && !p.pod.Removes() && podServes:
			pods = append(pods, readyPage(m, seen))
			if seen.pod != nil && seen.pod.Annotations[annotationTemplate] == "old" {
				outdated(&pods[0])
			}
		}
		n := int32(0)
		for _, replicas := range []int32{1, 3} {
			if reflect.DeepEqual(p.pageDeployment, apply.Write(pageDeployment(m, testImage, pagePorts(m, seen), replicas))) {
				n = replicas
			}
		}
		seen.setPage(m, pods...)
		seen.pageDeployment = nil
		if n > 0 {
			deployed(m, n, n)(seen)
		}
	}
	want := "write -"
	if m.Spec.Page.Replicas == 3 {
		want = "- 3"
	}
	if got := planned(m, seen); got != want || (seen.pod != nil) != (m.Spec.Page.Replicas == 1) {
		t.Errorf("ends with %s, want %s: %q", got, want, trace)
	}
}

func TestPageServes(t *testing.T) {
	one := sample()
	copied := sample(showing)
	tests := []struct {
		name string
		m    *v1alpha1.MaintPage
		seen []func(*observed)
		want bool
	}{
		{"ready", one, nil, true},
		{"none", one, []func(*observed){noPage(one)}, false},
		{"not ready", one, []func(*observed){withPage(one, notReady)}, false},
		{"to be replaced", one, []func(*observed){withPage(one, outdated)}, false},
		{"stand-in", one, []func(*observed){withPage(one, outdated), deployed(one, 1, 1)}, true},
		{"going", one, []func(*observed){withPage(one, goneAt(noon.Add(time.Second)))}, false},
		{"without the user's content", copied, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, test.seen...)
			p := plan{}
			p.planPage(test.m, seen, testImage, "")
			if got := p.pageServes(test.m, seen); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
