// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// The list is replaced as a whole, so it must not have changed since it was read.
	before := client.MergeFromWithOptions(m.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if wanted && !m.DeletionTimestamp.IsZero() {
		return nil // a finalizer cannot be added any more, and need not be removed yet
	}
	if wanted && !controllerutil.AddFinalizer(m, finalizer) || !wanted && !controllerutil.RemoveFinalizer(m, finalizer) {
		return nil
	}
	err := client.IgnoreNotFound(r.client.Patch(ctx, m, before))
	if err != nil {
		return fmt.Errorf("writing the finalizer: %w", err)
	}
	return nil
}
