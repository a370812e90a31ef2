// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/web-operators/internal/apply"
)

func TestErrors(t *testing.T) {
	const (
		waits     = "waits"
		terminal  = "terminal"
		transient = "transient"
	)
	pods := schema.GroupResource{Resource: "pods"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
	notOwned := &apply.NotOwnedError{Object: pod, Kind: "Pod"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "b", nil)
	conflict := apierrors.NewConflict(pods, "b", errors.New("uid mismatch"))
	quota := apierrors.NewForbidden(pods, "b", errors.New("exceeded quota: compute"))
	ending := apierrors.NewForbidden(pods, "b", errors.New("namespace is being terminated"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}

	tests := []struct {
		name   string
		err    error
		reason string
		retry  string
	}{
		{"not owned", notOwned, apply.ReasonNotOwned, waits},
		{"terminating", &apply.TerminatingError{Object: pod, Kind: "Pod"}, apply.ReasonTerminating, waits},
		{"namespace terminating", ending, apply.ReasonNamespaceTerminating, waits},
		{"quota", quota, apply.ReasonQuotaExceeded, transient},
		{"forbidden", apierrors.NewForbidden(pods, "b", errors.New("no")), apply.ReasonForbidden, transient},
		{"invalid", invalid, apply.ReasonRejected, terminal},
		{"wrapped", fmt.Errorf("applying Pod: %w", invalid), apply.ReasonRejected, terminal},
		{"conflict", conflict, apply.ReasonAPIError, transient},
		{"unknown", errors.New("connection refused"), apply.ReasonAPIError, transient},
		{"waiting and terminal", errors.Join(notOwned, invalid), apply.ReasonNotOwned, terminal},
		{"terminal and transient", errors.Join(invalid, conflict), apply.ReasonRejected, transient},
		{"going and invalid", errors.Join(ending, invalid), apply.ReasonRejected, terminal},
		{"several waiting", errors.Join(notOwned, errors.Join(ending)), apply.ReasonNotOwned, waits},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := apply.Reason(test.err); got != test.reason {
				t.Errorf("reason %s, want %s", got, test.reason)
			}
			got := transient
			switch err := apply.Retry(test.err); {
			case err == nil:
				got = waits
			case errors.Is(err, reconcile.TerminalError(nil)):
				got = terminal
			}
			if got != test.retry {
				t.Errorf("%s, want %s", got, test.retry)
			}
		})
	}
	if apply.Retry(nil) != nil {
		t.Error("no error must stay none")
	}
}
