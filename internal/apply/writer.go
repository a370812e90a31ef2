// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Writer writes the children of an operator's resources under one field manager.
// It may be used by many goroutines.
type Writer struct {
	client  client.Client
	manager string
	types   managedfields.TypeConverter
	answers answers
}

// NewWriter returns a Writer. The field manager must stay the same for ever: what
// was applied under another name is not ours any more.
func NewWriter(c client.Client, fieldManager string) *Writer {
	return &Writer{
		client:  c,
		manager: fieldManager,
		types:   applyconfigurations.NewTypeConverter(c.Scheme()),
	}
}

// Intent is a typed apply-configuration, such as *appsv1ac.DeploymentApplyConfiguration.
type Intent[I any] interface {
	runtime.ApplyConfiguration
	WithUID(types.UID) I
	WithOwnerReferences(...*metav1ac.OwnerReferenceApplyConfiguration) I
}

// Live is a pointer to an API object, such as *appsv1.Deployment; nil stands for an
// object that does not exist.
type Live[T any] interface {
	*T
	client.Object
}

// Apply makes the live object what the intent says, owned and controlled by owner,
// or does nothing when it is so already. It returns the object as it stands then:
// the live one, or the API server's answer (without managedFields). The intent is
// consumed by it.
//
// The error is a *NotOwnedError if the object belongs to someone else, and a
// *TerminatingError if it is being deleted.
func Apply[T any, L Live[T], I Intent[I]](ctx context.Context, w *Writer, owner client.Object, live L, intent I) (L, error) {
	gvk, err := w.client.GroupVersionKindFor(L(new(T)))
	if err != nil {
		return live, err
	}
	reference, err := w.controllerReference(owner)
	if err != nil {
		return live, err
	}
	intent.WithOwnerReferences(reference)

	applied := L(new(T))
	if live == nil {
		if err := w.send(ctx, gvk, operationCreate, intent, applied); err != nil {
			return nil, err
		}
		return applied, nil
	}

	if err := w.checkOwner(owner, gvk, live); err != nil {
		return live, err
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return live, &TerminatingError{Object: live, Kind: gvk.Kind}
	}
	same, owned, wanted, err := w.compare(gvk, live, L(new(T)), intent)
	if err != nil {
		return live, err
	}
	if same {
		skips.WithLabelValues(gvk.Kind).Inc()
		return live, nil
	}

	intent.WithUID(live.GetUID())
	err = w.send(ctx, gvk, operationUpdate, intent, applied)
	if apierrors.IsInvalid(err) {
		if reclaimed, reclaimErr := w.reclaim(ctx, gvk, live); reclaimErr != nil {
			return live, reclaimErr
		} else if reclaimed {
			err = w.send(ctx, gvk, operationUpdate, intent, applied)
		}
	}
	if err != nil {
		return live, err
	}
	w.answers.record(live.GetUID(), owned, wanted, applied.GetResourceVersion() == live.GetResourceVersion())
	return applied, nil
}

// compare reports whether the live object is what the intent says, or as near to it as
// the API server lets it be.
func (w *Writer) compare(gvk schema.GroupVersionKind, live, empty client.Object, intent runtime.ApplyConfiguration) (same bool, owned, wanted fields, err error) {
	if owned, err = ownedFields(w.types, w.manager, gvk, live); err != nil {
		return false, owned, wanted, fmt.Errorf("reading the fields owned in %s: %w", gvk.Kind, err)
	}
	if wanted, err = wantedFields(w.types, gvk, intent, empty); err != nil {
		return false, owned, wanted, fmt.Errorf("reading the intended %s: %w", gvk.Kind, err)
	}
	return owned.equal(wanted) || w.answers.known(live.GetUID(), owned, wanted), owned, wanted, nil
}

// Delete deletes the live object and its dependents, if it is still the one that was
// read and owner controls it. An object that is gone, or going, is no error.
func Delete[T any, L Live[T]](ctx context.Context, w *Writer, owner client.Object, live L) error {
	if live == nil || !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	gvk, err := w.client.GroupVersionKindFor(live)
	if err != nil {
		return err
	}
	if err := w.checkOwner(owner, gvk, live); err != nil {
		return err
	}
	err = w.client.Delete(ctx, live,
		client.Preconditions{UID: ptr.To(live.GetUID())},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("deleting %s: %w", gvk.Kind, err)
	}
	writes.WithLabelValues(gvk.Kind, operationDelete).Inc()
	return nil
}

// send applies the intent and reads the answer, which the client leaves in the
// intent, into applied.
func (w *Writer) send(ctx context.Context, gvk schema.GroupVersionKind, operation string, intent runtime.ApplyConfiguration, applied client.Object) error {
	if err := w.client.Apply(ctx, intent, client.FieldOwner(w.manager), client.ForceOwnership); err != nil {
		return fmt.Errorf("applying %s: %w", gvk.Kind, err)
	}
	writes.WithLabelValues(gvk.Kind, operation).Inc()
	answer, err := runtime.DefaultUnstructuredConverter.ToUnstructured(intent)
	if err != nil {
		return fmt.Errorf("reading the applied %s: %w", gvk.Kind, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(answer, applied); err != nil {
		return fmt.Errorf("reading the applied %s: %w", gvk.Kind, err)
	}
	return nil
}

// controllerReference is built here and not with controllerutil because an
// apply-configuration has no metav1.Object to set it on.
func (w *Writer) controllerReference(owner client.Object) (*metav1ac.OwnerReferenceApplyConfiguration, error) {
	gvk, err := w.client.GroupVersionKindFor(owner)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of the owner: %w", err)
	}
	return metav1ac.OwnerReference().
		WithAPIVersion(gvk.GroupVersion().String()).
		WithKind(gvk.Kind).
		WithName(owner.GetName()).
		WithUID(owner.GetUID()).
		WithController(true).
		WithBlockOwnerDeletion(true), nil
}

// checkOwner returns a *NotOwnedError unless the live object is the owner's.
func (w *Writer) checkOwner(owner client.Object, gvk schema.GroupVersionKind, live client.Object) error {
	controller := metav1.GetControllerOf(live)
	switch {
	case controller != nil && controller.UID == owner.GetUID():
		return nil
	case controller == nil && managedEntry(live, w.manager) != nil:
		return nil
	}
	return &NotOwnedError{Object: live, Kind: gvk.Kind, Controller: controller}
}
