// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StripForeign is a cache transform that keeps of a foreign object only who it is
// and to whom it belongs. So every name is known to be taken or free and no label
// that someone may remove decides about it, while the cluster's other objects cost
// little memory. Whole are objects that the field manager has applied, and those
// that a resource of the owner's kind controls even if managedFields were wiped.
func StripForeign[T any, L Live[T]](fieldManager string, owner schema.GroupKind) func(any) (any, error) {
	return func(obj any) (any, error) {
		live, ok := obj.(L)
		if !ok {
			return obj, nil // a tombstone
		}
		if managedEntry(live, fieldManager) != nil || controlledBy(live, owner) {
			return live, nil
		}
		stripped := L(new(T))
		stripped.SetName(live.GetName())
		stripped.SetNamespace(live.GetNamespace())
		stripped.SetUID(live.GetUID())
		stripped.SetResourceVersion(live.GetResourceVersion())
		stripped.SetOwnerReferences(live.GetOwnerReferences())
		stripped.SetDeletionTimestamp(live.GetDeletionTimestamp())
		return stripped, nil
	}
}

func controlledBy(obj client.Object, owner schema.GroupKind) bool {
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller == nil || controller.Kind != owner.Kind {
		return false
	}
	gv, err := schema.ParseGroupVersion(controller.APIVersion)
	return err == nil && gv.Group == owner.Group
}
