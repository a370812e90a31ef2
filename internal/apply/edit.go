// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Edit changes a few fields of an object that is not ours as a whole, such as the
// selector of an adopted Service or a finalizer. It is sent only if it changes
// something, and takes effect only if the object is still the one that was read: what
// to change was decided by looking at it. It returns the object as it stands then.
//
// An apply is not fit for this. Fields that are applied and later left out are removed
// from the object, while those of an object that is given back have to stay.
func Edit[T any, L Live[T]](ctx context.Context, w *Writer, live L, change func(L)) (L, error) {
	edited := live.DeepCopyObject().(L)
	change(edited)
	if equality.Semantic.DeepEqual(live, edited) {
		return live, nil
	}
	gvk, err := w.client.GroupVersionKindFor(live)
	if err != nil {
		return live, err
	}
	err = w.client.Patch(ctx, edited, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(w.manager))
	if apierrors.IsNotFound(err) {
		return nil, nil // gone, and there is nothing left to change
	}
	if err != nil {
		return live, fmt.Errorf("editing %s: %w", gvk.Kind, err)
	}
	writes.WithLabelValues(gvk.Kind, operationUpdate).Inc()
	return edited, nil
}
