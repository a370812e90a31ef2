// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
	"github.com/example/web-operators/internal/conditions"
	"github.com/example/web-operators/internal/podstate"
)

// Reasons of the conditions, beside those of package apply and of the kubelet.
const (
	reasonPodReady        = "PodReady"
	reasonPodNotReady     = "PodNotReady"
	reasonPodMissing      = "PodMissing"
	reasonScaledToZero    = "ScaledToZero"
	reasonPublished       = "Published"
	reasonNotPublished    = "NotPublished"
	reasonPageNotReady    = "PageNotReady"
	reasonAppNotReady     = "AppNotReady"
	reasonMoving          = "Moving"
	reasonSettling        = "Settling"
	reasonDraining        = "Draining"
	reasonServiceAbsent   = "ServiceMissing"
	reasonWrongSelector   = "SelectorChanged"
	reasonContested       = "SelectorContested"
	reasonClaimed         = "AppClaimed"
	reasonAppMissing      = "AppMissing"
	reasonNotAdoptable    = "NotAdoptable"
	reasonInvalidSchedule = "InvalidSchedule"
	reasonContentMissing  = "ContentMissing"
)

// cause is why something is as it is: a reason for programs and a message for people.
type cause struct {
	reason, message string
}

// status tells what was seen, after the plan was carried out or failed.
func status(m *v1alpha1.MaintPage, seen *observed, d demand, history []v1alpha1.Switch, failed error) v1alpha1.MaintPageStatus {
	s := *m.Status.DeepCopy()
	s.ObservedGeneration = m.Generation
	s.ActiveWindow, s.NextWindow = d.active, d.next
	set := func(conditionType string, status bool, c cause) {
		conditions.Set(&s.Conditions, m.Generation, conditionType, status, c.reason, c.message)
	}
	if seen.rival != "" && !releasing(m) {
		// Nothing of the application is this resource's to tell.
		claimed := cause{reasonClaimed, fmt.Sprintf("MaintPage %s has claimed the application %s before: delete one of the two",
			seen.rival, m.Spec.AppConfig.AppName)}
		s.MaintPublishStatus, s.Cause = v1alpha1.StatusNotPublished, ""
		for _, c := range []string{v1alpha1.ConditionMaintPageReady, v1alpha1.ConditionAppAvailable, v1alpha1.ConditionTrafficSwitched} {
			set(c, false, claimed)
		}
		set(v1alpha1.ConditionDegraded, true, claimed)
		return s
	}

	if serviceIsOurs(m, seen) {
		s.History = advance(m, history, seen, d)
		s.MaintPublishStatus = published(m, s.History, seen)
	} else {
		s.MaintPublishStatus = v1alpha1.StatusNotPublished
	}
	s.Cause = ""
	if s.MaintPublishStatus == v1alpha1.StatusPublished {
		s.Cause = d.cause
	}
	set(v1alpha1.ConditionMaintPageReady, seen.readyPagePod() && !lacksContent(m, seen), pageCause(m, seen))
	set(v1alpha1.ConditionAppAvailable, seen.appReady() && appIsOurs(m, seen), appCause(m, seen))
	switched, why := trafficCause(m, seen, d, s.History)
	set(v1alpha1.ConditionTrafficSwitched, switched, why)
	if trouble := degradedCause(m, seen, d, failed); trouble != nil {
		set(v1alpha1.ConditionDegraded, true, *trouble)
	} else {
		set(v1alpha1.ConditionDegraded, false, cause{conditions.ReasonAsExpected, "Nothing keeps the operator from the wanted state"})
	}
	return s
}

// serviceIsOurs reports whether the Service is there and may be switched.
func serviceIsOurs(m *v1alpha1.MaintPage, seen *observed) bool {
	return seen.service != nil && (borrows(m) || ours(m, seen.service) != nil)
}

// appIsOurs reports whether the Deployment is the application's.
func appIsOurs(m *v1alpha1.MaintPage, seen *observed) bool {
	return seen.deployment != nil && (borrows(m) || ours(m, seen.deployment) != nil)
}

func pageCause(m *v1alpha1.MaintPage, seen *observed) cause {
	if lacksContent(m, seen) {
		if _, problem := html(m, seen); problem != nil {
			return *problem
		}
	}
	ready := 0
	for i := range seen.pagePods {
		if podstate.Ready(&seen.pagePods[i]) {
			ready++
		}
	}
	switch {
	case len(seen.pagePods) == 0:
		return cause{reasonPodMissing, "The maintenance page has no pod"}
	case ready > 0:
		return cause{reasonPodReady, fmt.Sprintf("The maintenance page has %d of %d pods ready", ready, max(1, m.Spec.Page.Replicas))}
	}
	if trouble := troubleOf(seen.pagePods); trouble != nil {
		return *trouble
	}
	return cause{reasonPodNotReady, "No pod of the maintenance page is ready"}
}

func appCause(m *v1alpha1.MaintPage, seen *observed) cause {
	name := m.Spec.AppConfig.AppName
	if !appIsOurs(m, seen) {
		return cause{reasonPodMissing, fmt.Sprintf("Deployment %s does not exist", name)}
	}
	replicas, scaled := originalReplicas(seen.deployment)
	switch {
	case scaled && !seen.appReady():
		return cause{reasonScaledToZero, fmt.Sprintf("Deployment %s is scaled to zero for the maintenance, and gets its %d pods back", name, replicas)}
	case seen.appReady():
		return cause{reasonPodReady, fmt.Sprintf("%d of %d pods of Deployment %s are ready",
			seen.deployment.Status.ReadyReplicas, seen.deployment.Status.Replicas, name)}
	}
	if trouble := troubleOf(seen.appPods); trouble != nil {
		return *trouble
	}
	return cause{reasonPodNotReady, fmt.Sprintf("No pod of Deployment %s is ready", name)}
}

// troubleOf is what keeps the first pod in trouble from running, or nil.
func troubleOf(pods []corev1.Pod) *cause {
	for i := range pods {
		if reason, message := podstate.Trouble(&pods[i]); reason != "" {
			return &cause{reason, message}
		}
	}
	return nil
}

// trafficCause reports whether the last switch is done, and where it stands.
func trafficCause(m *v1alpha1.MaintPage, seen *observed, d demand, history []v1alpha1.Switch) (bool, cause) {
	name := m.Spec.AppConfig.AppName
	if !serviceIsOurs(m, seen) {
		return false, cause{reasonServiceAbsent, fmt.Sprintf("Service %s does not exist", name)}
	}
	target := map[side]string{appSide: "the application", pageSide: "the maintenance page"}
	current, known := currentSide(m, seen)
	switch {
	case !known:
		return false, cause{reasonWrongSelector, fmt.Sprintf("Service %s selects neither the application nor the page", name)}
	case current != d.side && d.side == pageSide:
		return false, cause{reasonPageNotReady, "Traffic stays with the application until the page is ready"}
	case current != d.side:
		return false, cause{reasonAppNotReady, "Traffic stays with the maintenance page until the application is ready"}
	}
	switch stageOf(m, history, seen) {
	case waiting, moving:
		return false, cause{reasonMoving, fmt.Sprintf("Service %s selects %s; its endpoints do not show it yet", name, target[d.side])}
	case settling:
		return false, cause{reasonSettling, fmt.Sprintf("Service %s leads to %s; every node is given time to notice", name, target[d.side])}
	case draining:
		return false, cause{reasonDraining, fmt.Sprintf("Service %s leads to %s; until %s %s may finish what it holds", name, target[d.side],
			stageEnds(m, history, seen).UTC().Format(time.RFC3339), target[!d.side])}
	case done:
		if len(history) == 0 && !meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionTrafficSwitched) &&
			!seen.leadsTo(appSide) && (!borrows(m) || !seen.appReady()) {
			return false, cause{reasonAppNotReady, fmt.Sprintf("Service %s leads to the application, which has not been ready yet", name)}
		}
	}
	reason := reasonNotPublished
	if d.side == pageSide {
		reason = reasonPublished
	}
	return true, cause{reason, fmt.Sprintf("Service %s leads to %s", name, target[d.side])}
}

// degradedCause is what keeps the operator from the wanted state and does not go by
// itself. It is nil if there is nothing.
func degradedCause(m *v1alpha1.MaintPage, seen *observed, d demand, failed error) *cause {
	if m.Spec.Adopt && !releasing(m) {
		if problem := notAdoptable(m, seen); problem != nil {
			return problem
		}
	}
	switch {
	case failed != nil && apply.Reason(failed) == apply.ReasonNotOwned:
		return &cause{apply.ReasonNotOwned, failed.Error() +
			": set adopt to true to put what is there behind a maintenance page, or choose another name"}
	case failed != nil && !apply.IsWaiting(failed):
		return &cause{apply.Reason(failed), failed.Error()}
	case seen.now.Before(seen.truce):
		return &cause{reasonContested, fmt.Sprintf(
			"%s keeps changing the selector of Service %s; the next attempt to set it is at %s: make it leave the selector alone",
			whoChanged(seen.service), seen.service.Name, seen.truce.UTC().Format(time.RFC3339))}
	case d.invalid != nil:
		return &cause{reasonInvalidSchedule, d.invalid.Error()}
	}
	if builtIn(m) {
		if _, problem := html(m, seen); problem != nil {
			return problem
		}
	}
	if !seen.readyPagePod() {
		return troubleOf(seen.pagePods)
	}
	return nil
}

// whoChanged names who set the selector last, as far as that is known.
func whoChanged(service *corev1.Service) string {
	if manager := apply.ManagerOf(service, "spec", "selector"); manager != "" {
		return manager
	}
	return "Somebody"
}

// writeStatus stores the status if it has changed, and then tells what has. News that
// can wait is not written yet: the time after which to come back is returned. The
// write is a patch without a precondition: nobody else writes the status, and a spec
// that has changed meanwhile is told by observedGeneration.
func (r *Reconciler) writeStatus(ctx context.Context, m *v1alpha1.MaintPage, s v1alpha1.MaintPageStatus) (time.Duration, error) {
	if equality.Semantic.DeepEqual(m.Status, s) {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(m)
	if wait := r.pace.Wait(key, r.now()); wait > 0 && canWait(&m.Status, &s) {
		return wait, nil
	}
	before := m.DeepCopy()
	m.Status = s
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		if err := client.IgnoreNotFound(err); err != nil {
			return 0, fmt.Errorf("writing the status: %w", err)
		}
		return 0, nil
	}
	r.pace.Wrote(key, r.now())
	conditions.Record(r.recorder, m, v1alpha1.ConditionDegraded, before.Status.Conditions, s.Conditions)
	return 0, nil
}

// canWait reports whether the only news are in messages, such as how many pods are ready.
func canWait(before, after *v1alpha1.MaintPageStatus) bool {
	if !conditions.SameState(before.Conditions, after.Conditions) {
		return false
	}
	silent := *before
	silent.Conditions = after.Conditions
	return equality.Semantic.DeepEqual(silent, *after)
}
