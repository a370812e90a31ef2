// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/example/web-operators/internal/apply"
)

func TestOptional(t *testing.T) {
	wanted := appsv1ac.Deployment("child", "ns")
	for _, test := range []struct {
		name            string
		intent          *appsv1ac.DeploymentApplyConfiguration
		exists          bool
		writes, removes bool
	}{
		{"wanted", wanted, false, true, false},
		{"wanted and there", wanted, true, true, false},
		{"there and not wanted", nil, true, false, true},
		{"neither", nil, false, false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if c := apply.Optional(test.intent, test.exists); c.Writes() != test.writes || c.Removes() != test.removes {
				t.Errorf("%+v", c)
			}
		})
	}
}

func TestCarryOut(t *testing.T) {
	f := newFixture(t)
	type child = apply.Child[*appsv1ac.DeploymentApplyConfiguration]
	var live *appsv1.Deployment
	do := func(c child) func() error {
		return func() error { return apply.CarryOut(f.ctx, f.writer, f.owner, &live, c) }
	}
	f.expectWrites(0, "leave", do(child{}))
	f.expectWrites(0, "remove what is not there", do(apply.Remove[*appsv1ac.DeploymentApplyConfiguration]()))
	f.expectWrites(1, "write", do(apply.Write(f.deployment())))
	if live == nil || live.UID != f.liveDeployment().UID {
		t.Fatalf("the live object is %v", live)
	}
	live = f.liveDeployment()
	f.expectWrites(0, "write again", do(apply.Write(f.deployment())))
	f.expectWrites(0, "leave", do(child{}))
	f.expectWrites(1, "remove", do(apply.Remove[*appsv1ac.DeploymentApplyConfiguration]()))
	if f.liveDeployment() != nil {
		t.Error("it is still there")
	}
}

func TestRead(t *testing.T) {
	f := newFixture(t)
	key := types.NamespacedName{Namespace: f.owner.Namespace, Name: "child"}
	live := &appsv1.Deployment{}
	f.must(apply.Read(f.ctx, f.client, key, &live))
	if live != nil {
		t.Errorf("%v", live)
	}
	f.must(f.applyDeployment(f.deployment()))
	f.must(apply.Read(f.ctx, f.client, key, &live))
	if live == nil || live.Name != "child" {
		t.Errorf("%v", live)
	}
	// An API server that does not answer is not an object that is not there.
	broken := interceptor.NewClient(withWatch{f.client}, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	if err := apply.Read(f.ctx, broken, key, &live); err == nil {
		t.Error("no error")
	}
}

// A resourceVersion in an intent says which version was looked at.
func TestResourceVersionIsAPrecondition(t *testing.T) {
	f := newFixture(t)
	at := func(version string) *corev1ac.ServiceApplyConfiguration {
		return f.service().WithResourceVersion(version)
	}
	f.must(f.applyService(f.service()))
	first := f.liveService()
	f.expectWrites(0, "nothing to change", func() error { return f.applyService(at(first.ResourceVersion)) })
	f.expectWrites(0, "nothing to change at another version", func() error { return f.applyService(at("1")) })

	changed := func(version string) *corev1ac.ServiceApplyConfiguration {
		intent := at(version)
		intent.Spec.Selector = map[string]string{"app": "other"}
		return intent
	}
	f.expectWrites(1, "change", func() error { return f.applyService(changed(first.ResourceVersion)) })
	second := f.liveService()
	if second.Spec.Selector["app"] != "other" {
		t.Errorf("%v", second.Spec.Selector)
	}
	f.expectWrites(0, "after the change", func() error { return f.applyService(changed(second.ResourceVersion)) })
	if _, err := apply.Apply(f.ctx, f.writer, f.owner, second, at(first.ResourceVersion)); !apierrors.IsConflict(err) || !apply.IsHiccup(err) {
		t.Errorf("%v", err)
	}
	if live := f.liveService(); live.ResourceVersion != second.ResourceVersion {
		t.Error("written all the same")
	}
}
