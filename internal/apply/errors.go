// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reasons for conditions and events that tell why a child could not be written.
const (
	ReasonNotOwned             = "NotOwned"
	ReasonTerminating          = "Terminating"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonQuotaExceeded        = "QuotaExceeded"
	ReasonForbidden            = "Forbidden"
	ReasonRejected             = "Rejected"
	ReasonAPIError             = "APIError"
)

// NotOwnedError says that an object has the name we need and is not ours.
type NotOwnedError struct {
	Object     client.Object
	Kind       string
	Controller *metav1.OwnerReference
}

func (e *NotOwnedError) Error() string {
	name := fmt.Sprintf("%s %s", e.Kind, client.ObjectKeyFromObject(e.Object))
	if e.Controller == nil {
		return fmt.Sprintf("%s already exists and was not created by this operator", name)
	}
	return fmt.Sprintf("%s already exists and belongs to %s %s", name, e.Controller.Kind, e.Controller.Name)
}

// TerminatingError says that the object has to be gone before a new one can take its name.
type TerminatingError struct {
	Object client.Object
	Kind   string
}

func (e *TerminatingError) Error() string {
	return fmt.Sprintf("%s %s is being deleted", e.Kind, client.ObjectKeyFromObject(e.Object))
}

// Reason names the cause of an error in one word, for a condition. Of several joined
// errors it names the first that does not go away by waiting.
func Reason(err error) string {
	all := flatten(err)
	for _, e := range all {
		if reason := reasonOf(e); !waits(reason) {
			return reason
		}
	}
	return reasonOf(all[0])
}

// Reasoned is an error of the caller's own. It has a reason, and it is the caller who
// looks again.
type Reasoned interface {
	error
	ConditionReason() string
}

func reasonOf(err error) string {
	var reasoned Reasoned
	var notOwned *NotOwnedError
	var terminating *TerminatingError
	switch {
	case errors.As(err, &reasoned):
		return reasoned.ConditionReason()
	case errors.As(err, &notOwned):
		return ReasonNotOwned
	case errors.As(err, &terminating):
		return ReasonTerminating
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return ReasonNamespaceTerminating
	case apierrors.IsForbidden(err) && IsQuotaMessage(err.Error()):
		return ReasonQuotaExceeded
	case apierrors.IsForbidden(err):
		return ReasonForbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return ReasonRejected
	default:
		return ReasonAPIError
	}
}

// waits reports whether the cause ends without anybody's doing.
func waits(reason string) bool {
	return reason == ReasonTerminating || reason == ReasonNamespaceTerminating
}

// IsQuotaMessage reports whether a message is about a quota. The API has no cause for
// it: the quota plugin tells by its message only.
func IsQuotaMessage(message string) bool {
	return strings.Contains(message, "exceeded quota")
}

// IsWaiting reports whether nothing is wrong: what is in the way is going already.
func IsWaiting(err error) bool {
	return err != nil && waits(Reason(err))
}

// IsHiccup reports whether the error is about the API server, not about the resource,
// and so says nothing that belongs in the resource's status.
func IsHiccup(err error) bool {
	return err != nil && Reason(err) == ReasonAPIError
}

// Retry is what a Reconcile returns for an error of this package. Nothing comes back
// for what a watch will wake it up for; an error that the same spec will only meet
// again is marked terminal; everything else is tried again with backoff.
func Retry(err error) error {
	if err == nil {
		return nil
	}
	var terminal, transient []error
	var reasoned Reasoned
	for _, e := range flatten(err) {
		if errors.As(e, &reasoned) {
			continue
		}
		switch reasonOf(e) {
		case ReasonNotOwned, ReasonTerminating, ReasonNamespaceTerminating:
		case ReasonRejected:
			terminal = append(terminal, e)
		default:
			transient = append(transient, e)
		}
	}
	// A terminal error must not hide one that needs another try.
	if len(transient) > 0 {
		return errors.Join(append(transient, terminal...)...)
	}
	if len(terminal) > 0 {
		return reconcile.TerminalError(errors.Join(terminal...))
	}
	return nil
}

// flatten takes apart what errors.Join has put together.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
