// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/internal/apply"
)

func TestStripForeign(t *testing.T) {
	owner := schema.GroupKind{Group: "cache.example.com", Kind: "Memcached"}
	ours := metav1.OwnerReference{APIVersion: "cache.example.com/v1alpha1", Kind: "Memcached", Name: "x", UID: "x", Controller: ptr.To(true)}
	theirs := metav1.OwnerReference{APIVersion: "other.example.com/v1", Kind: "Memcached", Name: "y", UID: "y", Controller: ptr.To(true)}
	applied := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1("{}")}
	updated := metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1("{}")}

	tests := []struct {
		name   string
		object metav1.ObjectMeta
		whole  bool
	}{
		{"foreign", metav1.ObjectMeta{}, false},
		{"of another group", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{theirs}}, false},
		{"updated by us", metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{updated}}, false},
		{"ours", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ours}}, true},
		{"ours without its owner reference", metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{applied}}, true},
	}
	strip := apply.StripForeign[appsv1.Deployment](manager, owner)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := &appsv1.Deployment{ObjectMeta: test.object, Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](3)}}
			in.Name, in.Namespace, in.UID, in.ResourceVersion = "a", "b", "c", "1"
			got, err := strip(in)
			if err != nil {
				t.Fatal(err)
			}
			out := got.(*appsv1.Deployment)
			if whole := out.Spec.Replicas != nil; whole != test.whole {
				t.Errorf("whole: %v, want %v", whole, test.whole)
			}
			if out.Name != "a" || out.Namespace != "b" || out.UID != "c" || out.ResourceVersion != "1" ||
				len(out.OwnerReferences) != len(test.object.OwnerReferences) {
				t.Errorf("lost who it is: %v", out.ObjectMeta)
			}
		})
	}
}
