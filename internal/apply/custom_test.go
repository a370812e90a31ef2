// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The fields of a kind that is not built in are counted as the API server counts them.
func TestKnow(t *testing.T) {
	w := &Writer{types: applyconfigurations.NewTypeConverter(scheme.Scheme)}
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{
			"labels":          map[string]any{"a": "b"},
			"ownerReferences": []any{map[string]any{"uid": "u", "name": "n"}},
		},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
			"value":    "x",
			"empty":    map[string]any{},
			"list":     []any{map[string]any{"port": int64(1)}},
		},
	}}
	thing.SetGroupVersionKind(kind)
	if _, err := w.types.ObjectToTyped(thing); err == nil {
		t.Fatal("the kind is known beforehand")
	}
	if err := w.Know(Kind{GroupVersionKind: kind, Atomic: []string{"selector"}}); err != nil {
		t.Fatal(err)
	}
	value, err := w.types.ObjectToTyped(thing)
	if err != nil {
		t.Fatal(err)
	}
	set, err := value.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	uid := fieldpath.KeyByFields("uid", "u")
	want := fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"),
		fieldpath.MakePathOrDie("kind"),
		fieldpath.MakePathOrDie("metadata", "labels", "a"),
		fieldpath.MakePathOrDie("metadata", "ownerReferences", uid),
		fieldpath.MakePathOrDie("spec", "selector"),
		fieldpath.MakePathOrDie("spec", "value"),
		fieldpath.MakePathOrDie("spec", "empty"),
		fieldpath.MakePathOrDie("spec", "list"),
	)
	if !set.Equals(want) {
		t.Errorf("fields %v, want %v", set, want)
	}
	// What was known before still is.
	service := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(1), "protocol": "TCP"}}}}}
	service.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
	if _, err := w.types.ObjectToTyped(service); err != nil {
		t.Error(err)
	}
}
