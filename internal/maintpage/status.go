// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/conditions"
	"github.com/example/web-operators/internal/podstate"
	"github.com/example/web-operators/internal/unsupported"
)

// Reasons of the conditions, beside those of package apply and of the kubelet.
const (
	reasonPodReady      = "PodReady"
	reasonPodNotReady   = "PodNotReady"
	reasonPodMissing    = "PodMissing"
	reasonPublished     = "Published"
	reasonNotPublished  = "NotPublished"
	reasonPageNotReady  = "PageNotReady"
	reasonAppNotReady   = "AppNotReady"
	reasonServiceAbsent = "ServiceMissing"
	reasonWrongSelector = "SelectorChanged"
)

// cause is why something is as it is: a reason for programs and a message for people.
type cause struct {
	reason, message string
}

// status tells what was seen, after the plan was carried out or failed.
func status(m *v1alpha1.MaintPage, seen *observed, failed error) v1alpha1.MaintPageStatus {
	s := *m.Status.DeepCopy()
	s.ObservedGeneration = m.Generation
	service := ours(m, seen.service)
	s.MaintPublishStatus, s.Cause = v1alpha1.StatusNotPublished, ""
	if current, ok := currentSide(m, service); ok && current == pageSide {
		s.MaintPublishStatus, s.Cause = v1alpha1.StatusPublished, v1alpha1.CauseToggle
	}

	set := func(conditionType string, status bool, c cause) {
		conditions.Set(&s.Conditions, m.Generation, conditionType, status, c.reason, c.message)
	}
	set(v1alpha1.ConditionMaintPageReady, seen.pageReady() && ours(m, seen.pod) != nil, pageCause(m, seen))
	set(v1alpha1.ConditionAppAvailable, seen.appReady() && ours(m, seen.deployment) != nil, appCause(m, seen))
	switched, why := trafficCause(m, service)
	set(v1alpha1.ConditionTrafficSwitched, switched, why)
	if trouble := degradedCause(m, seen, failed); trouble != nil {
		set(v1alpha1.ConditionDegraded, true, *trouble)
	} else {
		set(v1alpha1.ConditionDegraded, false, cause{conditions.ReasonAsExpected, "Nothing keeps the operator from the wanted state"})
	}
	return s
}

// ours is the object if it belongs to the resource, and nil if it is somebody else's.
func ours[T any, P interface {
	*T
	metav1.Object
}](m *v1alpha1.MaintPage, object P) P {
	if object == nil || !metav1.IsControlledBy(object, m) {
		return nil
	}
	return object
}

func pageCause(m *v1alpha1.MaintPage, seen *observed) cause {
	pod := ours(m, seen.pod)
	switch {
	case pod == nil:
		return cause{reasonPodMissing, fmt.Sprintf("Pod %s does not exist", podName(m))}
	case seen.pageReady():
		return cause{reasonPodReady, fmt.Sprintf("Pod %s is ready", podName(m))}
	}
	if reason, message := podstate.Trouble(pod); reason != "" {
		return cause{reason, message}
	}
	return cause{reasonPodNotReady, fmt.Sprintf("Pod %s is not ready", podName(m))}
}

func appCause(m *v1alpha1.MaintPage, seen *observed) cause {
	deployment := ours(m, seen.deployment)
	if deployment == nil {
		return cause{reasonPodMissing, fmt.Sprintf("Deployment %s does not exist", m.Spec.AppConfig.AppName)}
	}
	if seen.appReady() {
		return cause{reasonPodReady, fmt.Sprintf("%d of %d pods of Deployment %s are ready",
			deployment.Status.ReadyReplicas, deployment.Status.Replicas, deployment.Name)}
	}
	return cause{reasonPodNotReady, fmt.Sprintf("No pod of Deployment %s is ready", deployment.Name)}
}

// trafficCause reports whether the Service leads to the wanted side, and why not.
func trafficCause(m *v1alpha1.MaintPage, service *corev1.Service) (bool, cause) {
	if service == nil {
		return false, cause{reasonServiceAbsent, fmt.Sprintf("Service %s does not exist", m.Spec.AppConfig.AppName)}
	}
	wanted := wantedSide(m)
	current, ok := currentSide(m, service)
	switch {
	case !ok:
		return false, cause{reasonWrongSelector, fmt.Sprintf("Service %s selects neither the application nor the page", service.Name)}
	case current == wanted && wanted == pageSide:
		return true, cause{reasonPublished, fmt.Sprintf("Service %s leads to the maintenance page", service.Name)}
	case current == wanted:
		return true, cause{reasonNotPublished, fmt.Sprintf("Service %s leads to the application", service.Name)}
	case wanted == pageSide:
		return false, cause{reasonPageNotReady, "Traffic stays with the application until the page is ready"}
	default:
		return false, cause{reasonAppNotReady, "Traffic stays with the maintenance page until the application is ready"}
	}
}

// degradedCause is what keeps the operator from the wanted state and does not go by
// itself. It is nil if there is nothing.
func degradedCause(m *v1alpha1.MaintPage, seen *observed, failed error) *cause {
	if failed != nil && !apply.IsWaiting(failed) {
		return &cause{apply.Reason(failed), failed.Error()}
	}
	if message := notYet.Message(&m.Spec); message != "" {
		return &cause{unsupported.Reason, message}
	}
	if pod := ours(m, seen.pod); pod != nil && !seen.pageReady() {
		if reason, message := podstate.Trouble(pod); reason != "" {
			return &cause{reason, message}
		}
	}
	return nil
}

// writeStatus stores the status if it has changed, and then tells what has. It is a
// patch without a precondition: nobody else writes the status, and a spec that has
// changed meanwhile is told by observedGeneration.
func (r *Reconciler) writeStatus(ctx context.Context, m *v1alpha1.MaintPage, s v1alpha1.MaintPageStatus) error {
	if equality.Semantic.DeepEqual(m.Status, s) {
		return nil
	}
	before := m.DeepCopy()
	m.Status = s
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("writing the status: %w", err)
		}
		return nil
	}
	conditions.Record(r.recorder, m, v1alpha1.ConditionDegraded, before.Status.Conditions, s.Conditions)
	return nil
}
