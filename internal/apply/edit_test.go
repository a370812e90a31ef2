// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/web-operators/internal/apply"
)

func (f *fixture) createForeign() *appsv1.Deployment {
	f.Helper()
	f.must(f.client.Create(f.ctx, foreignDeployment(f.owner.Namespace)))
	return f.liveDeployment()
}

func note(d *appsv1.Deployment) { metav1.SetMetaDataAnnotation(&d.ObjectMeta, "note", "x") }

func TestEdit(t *testing.T) {
	f := newFixture(t)
	live := f.createForeign()
	before := live.DeepCopy()
	f.expectWrites(1, "edit", func() error {
		edited, err := apply.Edit(f.ctx, f.writer, live, note)
		f.must(err)
		if edited.Annotations["note"] != "x" || edited.ResourceVersion == before.ResourceVersion {
			t.Errorf("%+v", edited.ObjectMeta)
		}
		return nil
	})
	if live.Annotations["note"] != "" {
		t.Error("the object of the cache was changed")
	}
	after := f.liveDeployment()
	if after.Annotations["note"] != "x" || after.OwnerReferences != nil || toYAML(t, after.Spec) != toYAML(t, before.Spec) {
		t.Errorf("%+v", after)
	}
	f.expectWrites(0, "the same again", func() error {
		edited, err := apply.Edit(f.ctx, f.writer, after, note)
		if edited != after {
			t.Error("not the live object")
		}
		return err
	})
}

// What to change was decided by looking at one version.
func TestEditOfAnotherVersion(t *testing.T) {
	f := newFixture(t)
	stale := f.createForeign()
	f.patch(f.liveDeployment(), types.MergePatchType, `{"spec":{"replicas":7}}`)
	got, err := apply.Edit(f.ctx, f.writer, stale, note)
	if !apierrors.IsConflict(err) || got != stale || !apply.IsHiccup(err) {
		t.Errorf("%v, %v", got, err)
	}
	if live := f.liveDeployment(); live.Annotations["note"] != "" {
		t.Error("changed all the same")
	}
}

func TestEditOfWhatIsGone(t *testing.T) {
	f := newFixture(t)
	gone := f.createForeign()
	f.must(f.client.Delete(f.ctx, f.liveDeployment()))
	got, err := apply.Edit(f.ctx, f.writer, gone, note)
	if got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}

	// One of the same name that came since is not the one that was looked at.
	f.must(f.client.Create(f.ctx, foreignDeployment(f.owner.Namespace)))
	if _, err := apply.Edit(f.ctx, f.writer, gone, note); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
	if live := f.liveDeployment(); live.Annotations["note"] != "" {
		t.Error("changed all the same")
	}
}

// An edited field stays when it is not wanted any more, and does not make the object ours.
func TestEditTakesNoOwnership(t *testing.T) {
	f := newFixture(t)
	edited, err := apply.Edit(f.ctx, f.writer, f.createForeign(), func(d *appsv1.Deployment) { d.Spec.MinReadySeconds = 3 })
	f.must(err)
	if err := f.applyDeployment(f.deployment()); apply.Reason(err) != apply.ReasonNotOwned {
		t.Errorf("%v", err)
	}
	if got := apply.ManagerOf(edited, "spec", "minReadySeconds"); got != manager {
		t.Errorf("set by %q", got)
	}
}

func TestEditRemoves(t *testing.T) {
	f := newFixture(t)
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.owner.Namespace, Name: "child", Labels: map[string]string{"a": "b", "c": "d"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "x", "tier": "y"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	f.must(f.client.Create(f.ctx, s))
	_, err := apply.Edit(f.ctx, f.writer, f.liveService(), func(s *corev1.Service) {
		delete(s.Labels, "a")
		s.Spec.Selector = map[string]string{"app": "z"}
	})
	f.must(err)
	if live := f.liveService(); len(live.Labels) != 1 || len(live.Spec.Selector) != 1 || live.Spec.Selector["app"] != "z" {
		t.Errorf("%v %v", live.Labels, live.Spec.Selector)
	}
}
