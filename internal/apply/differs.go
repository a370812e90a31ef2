// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Differs reports whether a child is to be written, and is not yet what it is to be. It
// is for what has to be looked at before a write, and is too costly to be looked at
// otherwise. The intent is not consumed.
func Differs[T any, L Live[T], I Intent[I]](w *Writer, owner client.Object, live L, c Child[I]) (bool, error) {
	if c.action != write {
		return false, nil
	}
	if live == nil {
		return true, nil
	}
	gvk, err := w.client.GroupVersionKindFor(L(new(T)))
	if err != nil {
		return false, err
	}
	reference, err := w.controllerReference(owner)
	if err != nil {
		return false, err
	}
	intent := reflect.New(reflect.TypeOf(c.intent).Elem()).Interface().(I)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.intent)
	if err != nil {
		return false, fmt.Errorf("copying the intended %s: %w", gvk.Kind, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, intent); err != nil {
		return false, fmt.Errorf("copying the intended %s: %w", gvk.Kind, err)
	}
	same, _, _, err := w.compare(gvk, live, L(new(T)), intent.WithOwnerReferences(reference))
	return !same, err
}
