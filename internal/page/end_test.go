// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"testing"
	"time"
)

func TestExpectedEndAndRetryAfter(t *testing.T) {
	end := func(t time.Time) *time.Time { return &t }
	for _, c := range []struct {
		name     string
		settings Settings
		end      time.Time
		retry    int64
	}{
		{"nothing known", Settings{}, time.Time{}, 300},
		{"given by hand", Settings{ExpectedEnd: end(at(30))}, at(30), 1800},
		{"given by hand, past", Settings{ExpectedEnd: end(at(-1))}, time.Time{}, 300},
		{"given by hand, now", Settings{ExpectedEnd: end(noon)}, time.Time{}, 300},
		{"a window", Settings{Windows: []Window{{at(-10), at(10)}}}, at(10), 600},
		{"a window that opens now", Settings{Windows: []Window{{noon, at(10)}}}, at(10), 600},
		{"a window that closes now", Settings{Windows: []Window{{at(-10), noon}}}, time.Time{}, 300},
		{"a coming window", Settings{Windows: []Window{{at(10), at(20)}}}, time.Time{}, 300},
		{"a coming window, and by hand", Settings{Windows: []Window{{at(10), at(20)}}, ExpectedEnd: end(at(5))}, at(5), 300},
		{"a window goes before by hand", Settings{Windows: []Window{{at(-1), at(20)}}, ExpectedEnd: end(at(90))}, at(20), 1200},
		{"the latest end of two", Settings{Windows: []Window{{at(-1), at(20)}, {at(-2), at(40)}, {at(-3), at(30)}}}, at(40), 2400},
		{"one begins before the other ends", Settings{Windows: []Window{{at(15), at(60)}, {at(-1), at(20)}}}, at(60), 3600},
		{"one begins as the other ends", Settings{Windows: []Window{{at(-1), at(20)}, {at(20), at(30)}}}, at(30), 1800},
		{"a gap between two", Settings{Windows: []Window{{at(-1), at(20)}, {at(21), at(30)}}}, at(20), 1200},
		{"a window that ends before it begins", Settings{Windows: []Window{{at(10), at(-10)}}}, time.Time{}, 300},
		{"told by the user", Settings{RetryAfterSeconds: 7, ExpectedEnd: end(at(30))}, at(30), 7},
		{"a negative number is none", Settings{RetryAfterSeconds: -7}, time.Time{}, 300},
		{"the last second", Settings{ExpectedEnd: end(noon.Add(time.Second))}, noon.Add(time.Second), 5},
		{"rounded up", Settings{ExpectedEnd: end(noon.Add(61*time.Second + 1))}, noon.Add(61*time.Second + 1), 62},
	} {
		got := c.settings.expectedEnd(noon)
		if !got.Equal(c.end) {
			t.Errorf("%s: expected end %v, not %v", c.name, got, c.end)
		}
		if retry := c.settings.retryAfter(noon, got); retry != c.retry {
			t.Errorf("%s: Retry-After %d, not %d", c.name, retry, c.retry)
		}
	}
}

// The same content, asked again later: a window that opens after the content was
// written counts from the moment it opens.
func TestWindowOpensByItself(t *testing.T) {
	h := with(t, &Settings{Windows: []Window{{at(10), at(20)}}})
	for _, c := range []struct {
		minutes int
		retry   string
	}{{0, "300"}, {9, "300"}, {10, "600"}, {19, "60"}, {20, "300"}} {
		h.now = func() time.Time { return at(c.minutes) }
		if got := ask(t, h, "GET").Header().Get("Retry-After"); got != c.retry {
			t.Errorf("after %d minutes Retry-After is %s, not %s", c.minutes, got, c.retry)
		}
	}
}
