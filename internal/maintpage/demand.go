// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/apply"
)

// demand is where traffic should go, and who says so.
type demand struct {
	side    side
	cause   v1alpha1.SwitchCause
	message string
	// until is when the demand may change without anything else changing.
	until time.Time
	calendar
}

// demanded decides it: the toggle wins over the schedule, and both over an outage.
func demanded(m *v1alpha1.MaintPage, seen *observed) demand {
	d := demand{calendar: calendarAt(m.Spec.Schedule, seen.now)}
	d.until = d.nextBoundary()
	outage, changes := outageAt(m, seen)
	switch {
	case releasing(m):
		return demand{side: appSide, cause: lastCause(m), message: "the application is given back"}
	case m.Spec.MaintPageConfig.MaintPageToggle:
		d.side, d.cause, d.message = pageSide, v1alpha1.CauseToggle, "maintpagetoggle is true"+setBy(m)
	case d.active != nil:
		d.side, d.cause = pageSide, v1alpha1.CauseSchedule
		d.message = fmt.Sprintf("window %s is open until %s", d.active.Name, d.active.End.UTC().Format(time.RFC3339))
	case outage:
		d.side, d.cause, d.message = pageSide, v1alpha1.CauseOutage, "the application has no ready pod"
	default:
		d.side, d.cause = appSide, lastCause(m)
		d.message = map[v1alpha1.SwitchCause]string{
			v1alpha1.CauseToggle:   "maintpagetoggle is false" + setBy(m),
			v1alpha1.CauseSchedule: "the window is over",
			v1alpha1.CauseOutage:   "the application is ready again",
		}[d.cause]
	}
	if !changes.IsZero() && (d.until.IsZero() || changes.Before(d.until)) {
		d.until = changes
	}
	return d
}

// lastCause is what the last switch was made for; what ends is the same as what began.
func lastCause(m *v1alpha1.MaintPage) v1alpha1.SwitchCause {
	if m.Status.Cause != "" {
		return m.Status.Cause
	}
	if len(m.Status.History) > 0 {
		return m.Status.History[0].Cause
	}
	return v1alpha1.CauseToggle
}

// setBy tells who set the toggle, as far as that is known.
func setBy(m *v1alpha1.MaintPage) string {
	if manager := apply.ManagerOf(m, "spec", "maintpageconfig", "maintpagetoggle"); manager != "" {
		return ", set by " + manager
	}
	return ""
}

// outageAt reports whether an outage of the application is to be covered, and when
// that may change. The time since when the application is ready or not is that of its
// condition, which a restart of the operator does not lose.
func outageAt(m *v1alpha1.MaintPage, seen *observed) (outage bool, changes time.Time) {
	limits := m.Spec.PublishOnOutage
	if limits == nil || wasScaled(seen.deployment) {
		return false, time.Time{} // an application that we have stopped is not out of order
	}
	since := seen.now
	if c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionAppAvailable); c != nil &&
		(c.Status == metav1.ConditionTrue) == seen.appReady() {
		since = c.LastTransitionTime.Time
	}
	covered := m.Status.Cause == v1alpha1.CauseOutage || startedFor(m, v1alpha1.CauseOutage)
	limit := since.Add(time.Duration(limits.AfterSeconds) * time.Second)
	if seen.appReady() {
		limit = since.Add(time.Duration(limits.ReturnAfterSeconds) * time.Second)
	}
	if covered != seen.appReady() { // covered and still out, or in order and not covered
		return covered, time.Time{}
	}
	if seen.now.Before(limit) {
		return covered, limit
	}
	return !covered, time.Time{}
}

// startedFor reports whether the page is published, or being published, for a cause.
func startedFor(m *v1alpha1.MaintPage, cause v1alpha1.SwitchCause) bool {
	if len(m.Status.History) == 0 {
		return false
	}
	last := m.Status.History[0]
	return last.To == v1alpha1.StatusPublished && last.Cause == cause
}
