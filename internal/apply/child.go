// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Child is what a plan says about one child. Its zero value leaves it as it is.
type Child[I any] struct {
	action action
	intent I
}

type action int

const (
	leave action = iota
	write
	remove
)

// Write makes the child what the intent says.
func Write[I any](intent I) Child[I] { return Child[I]{action: write, intent: intent} }

// Remove deletes the child.
func Remove[I any]() Child[I] { return Child[I]{action: remove} }

// Optional writes a child that is wanted, and removes one that is there and is not.
func Optional[T any](intent *T, exists bool) Child[*T] {
	switch {
	case intent != nil:
		return Write(intent)
	case exists:
		return Remove[*T]()
	default:
		return Child[*T]{}
	}
}

// Removes reports whether the child is to go.
func (c Child[I]) Removes() bool { return c.action == remove }

// Writes reports whether the child is to be there.
func (c Child[I]) Writes() bool { return c.action == write }

// CarryOut does it, and updates the live object.
func CarryOut[T any, L Live[T], I Intent[I]](ctx context.Context, w *Writer, owner client.Object, live *L, c Child[I]) error {
	switch c.action {
	case write:
		var err error
		*live, err = Apply(ctx, w, owner, *live, c.intent)
		return err
	case remove:
		return Delete(ctx, w, owner, *live)
	default:
		return nil
	}
}
