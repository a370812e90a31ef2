// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Read reads an object into the pointer, or makes it nil if there is none.
func Read[T any, L Live[T]](ctx context.Context, reader client.Reader, key client.ObjectKey, object *L) error {
	*object = nil
	found := L(new(T))
	err := reader.Get(ctx, key, found)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %T %s: %w", found, key, err)
	}
	*object = found
	return nil
}
