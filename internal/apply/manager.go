// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// ManagerOf is the name of who last set a field, as far as managedFields tell, such as
// kubectl-edit or argocd-controller. It is empty if they do not.
func ManagerOf(object metav1.Object, path ...any) string {
	field, err := fieldpath.MakePath(path...)
	if err != nil {
		return ""
	}
	var last *metav1.ManagedFieldsEntry
	entries := object.GetManagedFields()
	for i := range entries {
		entry := &entries[i]
		if entry.FieldsV1 == nil || last != nil && entry.Time.Before(last.Time) {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err == nil && set.Has(field) {
			last = entry
		}
	}
	if last == nil {
		return ""
	}
	return last.Manager
}
