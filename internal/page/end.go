// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"time"
)

// minRetryAfter keeps clients from all coming back within the last second of a
// maintenance, and from coming again and again when it takes a little longer.
const minRetryAfter = 5 * time.Second

// expectedEnd is when the maintenance is expected to be over: when the open window
// ends, or else the time that the user gave. It is the zero time when nobody knows.
func (s *Settings) expectedEnd(now time.Time) time.Time {
	windows := slices.SortedFunc(slices.Values(s.Windows), func(a, b Window) int { return a.Start.Compare(b.Start) })
	end := now
	// A window that opens before the other one closes goes on where that ends: the
	// page stays up in between.
	for _, w := range windows {
		if !w.Start.After(end) && w.End.After(end) {
			end = w.End
		}
	}
	switch {
	case end.After(now):
		return end
	case s.ExpectedEnd != nil && s.ExpectedEnd.After(now):
		return *s.ExpectedEnd
	default:
		return time.Time{}
	}
}

// retryAfter is the number of seconds for the header Retry-After.
func (s *Settings) retryAfter(now, end time.Time) int64 {
	switch {
	case s.RetryAfterSeconds > 0:
		return int64(s.RetryAfterSeconds)
	case end.IsZero():
		return DefaultRetryAfterSeconds
	default:
		// Rounded up: a client that comes a moment too early finds the page again.
		return int64((max(end.Sub(now), minRetryAfter) + time.Second - 1) / time.Second)
	}
}
