// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

var underSpec = fieldpath.MakePrefixMatcherOrDie("spec")

// reclaim makes our manager the owner of everything that others have set in the
// spec, so that the next apply removes what the intent does not have. It reports
// whether there was anything to reclaim.
//
// It is the way out of an edit that an apply alone cannot repair: somebody put a
// hostPath in the place of our emptyDir, a value in the place of our valueFrom, or
// changed the protocol of a port, which makes it another port with the same name.
// Ours comes back beside theirs, both together are invalid, and the API server
// refuses the apply as long as theirs stays. What subresources own is left alone:
// spec.replicas may be an autoscaler's.
func (w *Writer) reclaim(ctx context.Context, gvk schema.GroupVersionKind, live client.Object) (bool, error) {
	entries, err := reclaimed(live.GetManagedFields(), w.manager, gvk.GroupVersion())
	if entries == nil || err != nil {
		return false, err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		// The precondition: managedFields that changed since they were read would be lost.
		{"op": "replace", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
	})
	if err != nil {
		return false, err
	}
	answer, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return false, fmt.Errorf("a copy of %T is no object", live)
	}
	if err := w.client.Patch(ctx, answer, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(w.manager)); err != nil {
		return false, fmt.Errorf("reclaiming the fields of %s: %w", gvk.Kind, err)
	}
	writes.WithLabelValues(gvk.Kind, operationReclaim).Inc()
	return true, nil
}

// reclaimed moves the fields under spec from all managers to ours. It returns nil if
// there are none to move.
func reclaimed(entries []metav1.ManagedFieldsEntry, manager string, gv schema.GroupVersion) ([]metav1.ManagedFieldsEntry, error) {
	ours := metav1.ManagedFieldsEntry{
		Manager:    manager,
		Operation:  metav1.ManagedFieldsOperationApply,
		APIVersion: gv.String(),
		FieldsType: "FieldsV1",
	}
	owned, moved := fieldpath.NewSet(), fieldpath.NewSet()
	var others []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			others = append(others, entry)
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("decoding managedFields: %w", err)
		}
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			ours, owned = entry, set
			continue
		}
		spec := set.FilterIncludeMatches(underSpec)
		moved = moved.Union(spec)
		if rest := set.Difference(spec); !rest.Empty() {
			if err := setFields(&entry, rest); err != nil {
				return nil, err
			}
			others = append(others, entry)
		}
	}
	if moved.Difference(owned).Empty() {
		return nil, nil
	}
	if err := setFields(&ours, owned.Union(moved)); err != nil {
		return nil, err
	}
	return append(others, ours), nil
}

func setFields(entry *metav1.ManagedFieldsEntry, set *fieldpath.Set) error {
	data, err := set.ToJSON()
	if err != nil {
		return fmt.Errorf("encoding managedFields: %w", err)
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(data))
	return nil
}
