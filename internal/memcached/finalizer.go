// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// finalizer keeps a deleted resource until clients cannot find its nodes any more.
// The garbage collector removes children in no order: without it, names would still
// resolve to nodes that are gone, and clients would wait for them.
const finalizer = "cache.example.com/unlist"

// wantsFinalizer reports whether there is something to do before the nodes may go.
// It never is for long: a Service that is gone, going, or not ours is not waited for.
func wantsFinalizer(m *v1alpha1.Memcached, seen *observed) bool {
	if m.DeletionTimestamp.IsZero() {
		return true
	}
	return seen.service != nil && seen.service.DeletionTimestamp.IsZero() && metav1.IsControlledBy(seen.service, m)
}

// setFinalizer adds or removes the finalizer if it has to be.
func (r *Reconciler) setFinalizer(ctx context.Context, m *v1alpha1.Memcached, wanted bool) error {
	var patch client.Patch
	switch i := slices.Index(m.Finalizers, finalizer); {
	case wanted && i < 0 && m.DeletionTimestamp.IsZero(): // later it cannot be added any more
		before := m.DeepCopy()
		controllerutil.AddFinalizer(m, finalizer)
		// The list is replaced as a whole, so it must not have changed since it was read.
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	case !wanted && i >= 0:
		// Only the one entry is looked at: a status that was written meanwhile, which is
		// likely now, is no reason to try again.
		patch = client.RawPatch(types.JSONPatchType, fmt.Appendf(nil,
			`[{"op":"test","path":"/metadata/finalizers/%d","value":%q},{"op":"remove","path":"/metadata/finalizers/%d"}]`, i, finalizer, i))
	default:
		return nil
	}
	if err := client.IgnoreNotFound(r.client.Patch(ctx, m, patch)); err != nil {
		return fmt.Errorf("writing the finalizer: %w", err)
	}
	return nil
}
