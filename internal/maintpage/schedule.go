// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // the image has no time zones of its own

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// calendar is what a schedule says of one moment.
type calendar struct {
	active, next *v1alpha1.WindowOccurrence
	// invalid names the windows that cannot be understood. The others count.
	invalid error
}

// calendarAt looks a schedule up. It depends on the time and nothing else, so an
// operator that was away over the begin or the end of a window does what is right then.
func calendarAt(schedule *v1alpha1.Schedule, now time.Time) calendar {
	c := calendar{}
	if schedule == nil {
		return c
	}
	for i := range schedule.Windows {
		active, next, err := occurrences(&schedule.Windows[i], now)
		if err != nil {
			c.invalid = errors.Join(c.invalid, fmt.Errorf("schedule window %s: %w", schedule.Windows[i].Name, err))
		}
		if schedule.Suspend {
			continue
		}
		if active != nil && (c.active == nil || c.active.End.Before(&active.End)) {
			c.active = active
		}
		if next != nil && (c.next == nil || next.Start.Before(&c.next.Start)) {
			c.next = next
		}
	}
	return c
}

// occurrences are the time that a window is open now and the next time that it opens.
func occurrences(window *v1alpha1.Window, now time.Time) (active, next *v1alpha1.WindowOccurrence, err error) {
	if once := window.Once; once != nil {
		switch {
		case now.Before(once.Start.Time):
			return nil, occurrence(window, once.Start.Time, once.End.Time), nil
		case now.Before(once.End.Time):
			return occurrence(window, once.Start.Time, once.End.Time), nil, nil
		}
		return nil, nil, nil
	}
	if window.Cron == nil {
		return nil, nil, nil
	}
	starts, zone, err := parseCron(window.Cron)
	if err != nil {
		return nil, nil, err
	}
	duration := window.Cron.Duration.Duration
	// The windows that are open now began within the last duration. A window that
	// opens again before it has closed simply goes on: the last one counts, and one
	// that opens every minute is not counted through a week.
	var start time.Time
	for back := min(duration, time.Hour); active == nil; back = min(duration, 24*back) {
		for start = starts.Next(now.Add(-back).In(zone)); !start.IsZero() && !start.After(now); start = starts.Next(start) {
			active = occurrence(window, start, start.Add(duration))
		}
		if back == duration {
			break
		}
	}
	if start.IsZero() { // such as the 30th of February
		return active, nil, nil
	}
	return active, occurrence(window, start, start.Add(duration)), nil
}

func occurrence(window *v1alpha1.Window, start, end time.Time) *v1alpha1.WindowOccurrence {
	return &v1alpha1.WindowOccurrence{Name: window.Name, Start: metav1.NewTime(start), End: metav1.NewTime(end)}
}

func parseCron(window *v1alpha1.CronWindow) (cron.Schedule, *time.Location, error) {
	zone, err := time.LoadLocation(window.TimeZone)
	if err != nil {
		return nil, nil, fmt.Errorf("timeZone %q is not known: use an IANA name such as Europe/Berlin", window.TimeZone)
	}
	starts, err := cron.ParseStandard(window.Expression)
	if err != nil {
		return nil, nil, fmt.Errorf("expression %q is not a line of cron: %w", window.Expression, err)
	}
	return starts, zone, nil
}

// nextBoundary is when the calendar changes. It is zero if it does not.
func (c calendar) nextBoundary() time.Time {
	switch {
	case c.active == nil && c.next == nil:
		return time.Time{}
	case c.active == nil:
		return c.next.Start.Time
	case c.next == nil || c.active.End.Before(&c.next.Start):
		return c.active.End.Time
	default:
		return c.next.Start.Time
	}
}
