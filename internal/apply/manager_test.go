// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/internal/apply"
)

func TestManagerOf(t *testing.T) {
	const selector = `{"f:spec":{"f:selector":{}}}`
	entry := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
		if minute > 0 {
			e.Time = ptr.To(metav1.NewTime(time.Date(2026, 6, 1, 12, minute, 0, 0, time.UTC)))
		}
		return e
	}
	for _, test := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		{"nobody", nil, ""},
		{"others", []metav1.ManagedFieldsEntry{entry("a", `{"f:spec":{"f:ports":{}}}`, 1)}, ""},
		{"one", []metav1.ManagedFieldsEntry{entry("a", `{"f:spec":{"f:ports":{}}}`, 1), entry("b", selector, 2)}, "b"},
		{"the last of two", []metav1.ManagedFieldsEntry{entry("a", selector, 2), entry("b", selector, 1)}, "a"},
		{"the last of two, in order", []metav1.ManagedFieldsEntry{entry("a", selector, 1), entry("b", selector, 2)}, "b"},
		{"without a time", []metav1.ManagedFieldsEntry{entry("a", selector, 0)}, "a"},
		{"unreadable", []metav1.ManagedFieldsEntry{entry("a", `{"x`, 1)}, ""},
		{"without fields", []metav1.ManagedFieldsEntry{{Manager: "a"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.entries}}
			if got := apply.ManagerOf(s, "spec", "selector"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if got := apply.ManagerOf(&corev1.Service{}, 1.5); got != "" {
		t.Errorf("a path that is none: %q", got)
	}
}
