// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// How does a switch go?
//
//	waiting    the target has no ready pod; traffic stays where it is
//	moving     the Service selects the target, its EndpointSlices do not show it yet
//	settling   they do; kube-proxy programs its rules at most about once a second
//	draining   every new connection reaches the target; the other side finishes its work
//	done
//
// Where it stands is in status.history, whose first entry is this switch, and in the
// Service. So an operator that starts anew goes on where the last one stopped.

// settle is how long new connections may still reach the old side after the
// EndpointSlices have changed. Times in a status have no fractions, so it is up to a
// second less.
const settle = 3 * time.Second

// stage is how far the last switch is.
type stage int

const (
	waiting stage = iota
	moving
	settling
	draining
	done
)

// advance is the history after what was seen. It adds an entry if another side is
// wanted than that of the last switch, and writes down how far it is.
func advance(m *v1alpha1.MaintPage, history []v1alpha1.Switch, seen *observed, d demand) []v1alpha1.Switch {
	history = slices.Clone(history)
	current, known := currentSide(m, seen)
	if len(history) > 0 && history[0].To != d.side.publishStatus() &&
		history[0].TrafficMovedTime.IsZero() && known && current == d.side {
		history = history[1:] // it never took effect, and is not wanted any more
	}
	if lastSide(history) != d.side {
		history = slices.Insert(history, 0, v1alpha1.Switch{
			To: d.side.publishStatus(), Cause: d.cause, StartTime: metav1.NewTime(seen.now), Message: d.message,
		})
		history = history[:min(len(history), v1alpha1.HistoryLimit)]
	}
	if len(history) == 0 || !history[0].CompletionTime.IsZero() {
		return history
	}
	last := &history[0]
	arrived := known && current == d.side && seen.leadsTo(d.side)
	switch stageOf(m, history, seen) {
	case waiting, moving:
		if arrived {
			last.TrafficMovedTime = metav1.NewTime(seen.now)
		}
	case settling:
		if !arrived { // what was seen was from before the switch
			last.TrafficMovedTime = metav1.Time{}
		}
	case done:
		last.CompletionTime = metav1.NewTime(seen.now)
	case draining:
	}
	return history
}

// lastSide is where the last switch led. Before the first one it is the application.
func lastSide(history []v1alpha1.Switch) side {
	return len(history) > 0 && sideOf(history[0].To) == pageSide
}

// stageOf is the stage of the last switch.
func stageOf(m *v1alpha1.MaintPage, history []v1alpha1.Switch, seen *observed) stage {
	if len(history) == 0 || !history[0].CompletionTime.IsZero() {
		return done
	}
	current, known := currentSide(m, seen)
	moved := history[0].TrafficMovedTime
	switch {
	case moved.IsZero() && (!known || current != sideOf(history[0].To)):
		return waiting
	case moved.IsZero():
		return moving
	case seen.now.Before(moved.Add(settle)):
		return settling
	case seen.now.Before(moved.Add(drainTime(m))):
		return draining
	default:
		return done
	}
}

// drainTime is how long after traffic has moved a switch is done.
func drainTime(m *v1alpha1.MaintPage) time.Duration {
	return max(settle, time.Duration(ptr.Deref(m.Spec.DrainSeconds, 0))*time.Second)
}

// stageEnds is when the stage goes over into the next one by itself. It is zero if it
// does not.
func stageEnds(m *v1alpha1.MaintPage, history []v1alpha1.Switch, seen *observed) time.Time {
	switch stageOf(m, history, seen) {
	case settling:
		return history[0].TrafficMovedTime.Add(settle)
	case draining:
		return history[0].TrafficMovedTime.Add(drainTime(m))
	case waiting, moving, done:
	}
	return time.Time{}
}

// published is what visitors see: the side of the last switch once it has settled.
func published(m *v1alpha1.MaintPage, history []v1alpha1.Switch, seen *observed) v1alpha1.MaintPublishStatus {
	stage := stageOf(m, history, seen)
	current, known := currentSide(m, seen)
	switch {
	case stage < draining && m.Status.MaintPublishStatus != "":
		return m.Status.MaintPublishStatus // not yet
	case stage < draining:
		return v1alpha1.StatusNotPublished
	case known:
		return current.publishStatus() // even if somebody else has brought it there
	default:
		return lastSide(history).publishStatus()
	}
}
