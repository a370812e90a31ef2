// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// fields are some of an object's fields: which ones, and what is in them.
//
// Both are compared. The set alone is blind to an item that changed its place in a
// list, and does not know values. The values alone do not know about a field that
// is set to its zero value, which most API types leave out.
type fields struct {
	set    *fieldpath.Set
	values map[string]any
}

// equal compares lists in order: that of init containers or arguments means
// something, and an apply puts it right.
func (f fields) equal(other fields) bool {
	return f.set.Equals(other.set) && equality.Semantic.DeepEqual(f.values, other.values)
}

// unmanaged are the fields that the API server never lists in managedFields, of
// those that an intent has.
var unmanaged = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"), // a precondition
)

// ownedFields are the fields that our last apply set and nobody has changed since.
func ownedFields(types managedfields.TypeConverter, manager string, gvk schema.GroupVersionKind, live client.Object) (fields, error) {
	set := fieldpath.NewSet()
	if entry := managedEntry(live, manager); entry != nil {
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return fields{}, fmt.Errorf("decoding managedFields: %w", err)
		}
	}
	return extract(types, set, gvk, live)
}

// wantedFields are the fields of the intent. The values are read through the API
// type, as those of the live object are, so that both are written the same way: a
// quantity of 1000m is 1 in either.
func wantedFields(types managedfields.TypeConverter, gvk schema.GroupVersionKind, intent runtime.ApplyConfiguration, empty client.Object) (fields, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(intent)
	if err != nil {
		return fields{}, err
	}
	value, err := types.ObjectToTyped(&unstructured.Unstructured{Object: content})
	if err != nil {
		return fields{}, err
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return fields{}, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, empty); err != nil {
		return fields{}, err
	}
	return extract(types, set.Difference(unmanaged), gvk, empty)
}

func extract(types managedfields.TypeConverter, set *fieldpath.Set, gvk schema.GroupVersionKind, obj client.Object) (fields, error) {
	obj.GetObjectKind().SetGroupVersionKind(gvk) // the converter finds the schema by it
	// Others may have put two items with the same key in a list; that is theirs to settle.
	value, err := types.ObjectToTyped(obj, typed.AllowDuplicates)
	if err != nil {
		return fields{}, err
	}
	value = value.ExtractItems(set.Leaves())
	// An empty struct is extracted with all that others have put in it.
	within, err := value.ToFieldSet()
	if err != nil {
		return fields{}, err
	}
	value = value.RemoveItems(within.Leaves().Difference(set))
	values, _ := prune(value.AsValue().Unstructured()).(map[string]any)
	return fields{set: set, values: values}, nil
}

// prune drops structs without content, which are written as {} or null; that they
// are there is in the set.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, field := range v {
			if v[key] = prune(field); v[key] == nil {
				delete(v, key)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return value
}

// managedEntry is what the API server has written down about the manager's applies.
func managedEntry(obj metav1.Object, manager string) *metav1.ManagedFieldsEntry {
	entries := obj.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.Subresource == "" && entry.FieldsV1 != nil {
			return entry
		}
	}
	return nil
}
