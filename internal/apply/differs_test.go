// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"github.com/example/web-operators/internal/apply"
)

// What Differs says is what an apply does next, and nothing is written for it.
func TestDiffers(t *testing.T) {
	f := newFixture(t)
	child := apply.Write(f.deployment())
	expect := func(what string, live *appsv1.Deployment, child apply.Child[*appsv1ac.DeploymentApplyConfiguration], want bool) {
		t.Helper()
		got, err := apply.Differs(f.writer, f.owner, live, child)
		f.must(err)
		if got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	expect("not there", nil, child, true)
	if f.writes != 0 {
		t.Errorf("%d writes", f.writes)
	}
	var live *appsv1.Deployment
	f.must(apply.CarryOut(f.ctx, f.writer, f.owner, &live, child))
	// It was looked at before, and is still applied with one owner only.
	if owners := f.liveDeployment().OwnerReferences; len(owners) != 1 {
		t.Errorf("%d owners", len(owners))
	}
	child = apply.Write(f.deployment())
	expect("as it is to be", f.liveDeployment(), child, false)
	expect("as it is to be, again", f.liveDeployment(), child, false)
	changed := f.deployment()
	changed.Spec.WithReplicas(3)
	expect("another size", f.liveDeployment(), apply.Write(changed), true)
	expect("left alone", f.liveDeployment(), apply.Child[*appsv1ac.DeploymentApplyConfiguration]{}, false)
	expect("to go", f.liveDeployment(), apply.Remove[*appsv1ac.DeploymentApplyConfiguration](), false)

	edited := f.liveDeployment()
	edited.Spec.Template.Spec.Containers[0].Image = "hand:1"
	f.must(f.client.Update(f.ctx, edited))
	expect("edited by hand", f.liveDeployment(), child, true)
}
