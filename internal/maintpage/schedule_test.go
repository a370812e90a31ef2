// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func cronWindow(name, expression, zone string, duration time.Duration) v1alpha1.Window {
	return v1alpha1.Window{Name: name, Cron: &v1alpha1.CronWindow{
		Expression: expression, TimeZone: zone, Duration: metav1.Duration{Duration: duration},
	}}
}

func onceWindow(t *testing.T, name, start, end string) v1alpha1.Window {
	t.Helper()
	return v1alpha1.Window{Name: name, Once: &v1alpha1.OnceWindow{Start: metav1.NewTime(at(t, start)), End: metav1.NewTime(at(t, end))}}
}

// tell writes a window down in one line, as month-day and UTC.
func tell(w *v1alpha1.WindowOccurrence) string {
	if w == nil {
		return "-"
	}
	const layout = "01-02T15:04"
	return fmt.Sprintf("%s %s %s", w.Name, w.Start.UTC().Format(layout), w.End.UTC().Format(layout))
}

func TestCalendar(t *testing.T) {
	type windows = []v1alpha1.Window
	once := windows{onceWindow(t, "a", "2026-06-01T22:00:00+02:00", "2026-06-01T21:00:00Z")}
	hourly := windows{cronWindow("h", "@hourly", "UTC", 10*time.Minute)}
	berlin := func(expression string, duration time.Duration) windows {
		return windows{cronWindow("b", expression, "Europe/Berlin", duration)}
	}
	york := windows{cronWindow("n", "30 1 * * *", "America/New_York", 30*time.Minute)}
	overlap := windows{
		onceWindow(t, "long", "2026-06-01T10:00:00Z", "2026-06-01T14:00:00Z"),
		onceWindow(t, "late", "2026-06-01T13:00:00Z", "2026-06-01T15:00:00Z"),
		onceWindow(t, "short", "2026-06-01T11:00:00Z", "2026-06-01T12:00:00Z"),
	}
	tests := []struct {
		name         string
		windows      windows
		now          string
		active, next string
		boundary     string // empty for none
	}{
		{"once, before", once, "2026-06-01T19:59:59Z", "-", "a 06-01T20:00 06-01T21:00", "2026-06-01T20:00:00Z"},
		{"once, opens", once, "2026-06-01T20:00:00Z", "a 06-01T20:00 06-01T21:00", "-", "2026-06-01T21:00:00Z"},
		{"once, closes", once, "2026-06-01T21:00:00Z", "-", "-", ""},

		{"cron, before", hourly, "2026-06-01T11:59:59Z", "-", "h 06-01T12:00 06-01T12:10", "2026-06-01T12:00:00Z"},
		{"cron, opens", hourly, "2026-06-01T12:00:00Z", "h 06-01T12:00 06-01T12:10", "h 06-01T13:00 06-01T13:10", "2026-06-01T12:10:00Z"},
		{"cron, last moment", hourly, "2026-06-01T12:09:59Z", "h 06-01T12:00 06-01T12:10", "h 06-01T13:00 06-01T13:10", "2026-06-01T12:10:00Z"},
		{"cron, closes", hourly, "2026-06-01T12:10:00Z", "-", "h 06-01T13:00 06-01T13:10", "2026-06-01T13:00:00Z"},
		{"zone", berlin("0 2 * * *", time.Hour), "2026-06-01T12:00:00Z", "-", "b 06-02T00:00 06-02T01:00", "2026-06-02T00:00:00Z"},

		// The clock goes from 02:00 to 03:00 at 01:00 UTC. A window lasts as long as it says.
		{
			"spring, over the change", berlin("0 1 * * *", 3*time.Hour), "2026-03-29T02:59:59Z",
			"b 03-29T00:00 03-29T03:00", "b 03-29T23:00 03-30T02:00", "2026-03-29T03:00:00Z",
		},
		{"spring, right after it", berlin("0 3 * * *", time.Hour), "2026-03-29T00:59:00Z", "-", "b 03-29T01:00 03-29T02:00", "2026-03-29T01:00:00Z"},
		// 02:30 does not exist that night: there is no window.
		{"spring, in the gap", berlin("30 2 * * *", time.Hour), "2026-03-29T00:00:00Z", "-", "b 03-30T00:30 03-30T01:30", "2026-03-30T00:30:00Z"},
		// The clock goes from 03:00 back to 02:00 at 01:00 UTC.
		{
			"autumn, over the change", berlin("0 1 * * *", 3*time.Hour), "2026-10-25T01:59:59Z",
			"b 10-24T23:00 10-25T02:00", "b 10-26T00:00 10-26T03:00", "2026-10-25T02:00:00Z",
		},
		// 02:30 comes twice that night, and so does the window.
		{
			"autumn, the first 02:30", berlin("30 2 * * *", 30*time.Minute), "2026-10-25T00:30:00Z",
			"b 10-25T00:30 10-25T01:00", "b 10-25T01:30 10-25T02:00", "2026-10-25T01:00:00Z",
		},
		{
			"autumn, the second 02:30", berlin("30 2 * * *", 30*time.Minute), "2026-10-25T01:30:00Z",
			"b 10-25T01:30 10-25T02:00", "b 10-26T01:30 10-26T02:00", "2026-10-25T02:00:00Z",
		},
		{"New York, before the change", york, "2026-10-31T05:30:00Z", "n 10-31T05:30 10-31T06:00", "n 11-01T05:30 11-01T06:00", "2026-10-31T06:00:00Z"},
		{"New York, after the change", york, "2026-11-01T07:00:00Z", "-", "n 11-02T06:30 11-02T07:00", "2026-11-02T06:30:00Z"},

		{"overlapping, one", overlap, "2026-06-01T10:30:00Z", "long 06-01T10:00 06-01T14:00", "short 06-01T11:00 06-01T12:00", "2026-06-01T11:00:00Z"},
		{"overlapping, two", overlap, "2026-06-01T11:30:00Z", "long 06-01T10:00 06-01T14:00", "late 06-01T13:00 06-01T15:00", "2026-06-01T13:00:00Z"},
		{"overlapping, the later end counts", overlap, "2026-06-01T13:30:00Z", "late 06-01T13:00 06-01T15:00", "-", "2026-06-01T15:00:00Z"},
		{
			"longer than its period", windows{cronWindow("h", "0 * * * *", "UTC", 150*time.Minute)}, "2026-06-01T12:20:00Z",
			"h 06-01T12:00 06-01T14:30", "h 06-01T13:00 06-01T15:30", "2026-06-01T13:00:00Z",
		},
		{"never", windows{cronWindow("x", "0 0 30 2 *", "UTC", time.Hour)}, "2026-06-01T12:00:00Z", "-", "-", ""},
		{"empty window", windows{{Name: "x"}}, "2026-06-01T12:00:00Z", "-", "-", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schedule := &v1alpha1.Schedule{Windows: test.windows}
			c := calendarAt(schedule, at(t, test.now))
			if c.invalid != nil {
				t.Error(c.invalid)
			}
			if got := tell(c.active); got != test.active {
				t.Errorf("active %s, want %s", got, test.active)
			}
			if got := tell(c.next); got != test.next {
				t.Errorf("next %s, want %s", got, test.next)
			}
			var boundary time.Time
			if test.boundary != "" {
				boundary = at(t, test.boundary)
			}
			if got := c.nextBoundary(); !got.Equal(boundary) {
				t.Errorf("boundary %s, want %s", got.UTC(), boundary)
			}
			// The zone that the operator's own clock is in does not matter.
			tokyo := time.FixedZone("Tokyo", 9*60*60)
			if other := calendarAt(schedule, at(t, test.now).In(tokyo)); tell(other.active) != test.active || tell(other.next) != test.next {
				t.Errorf("in another zone: %s, %s", tell(other.active), tell(other.next))
			}

			schedule.Suspend = true
			if c := calendarAt(schedule, at(t, test.now)); c != (calendar{}) {
				t.Errorf("suspended: %+v", c)
			}
		})
	}
	if c := calendarAt(nil, noon); c != (calendar{}) {
		t.Errorf("without a schedule: %+v", c)
	}
}

func TestInvalidWindows(t *testing.T) {
	for _, test := range []struct {
		name   string
		window v1alpha1.Window
		want   string
	}{
		{"minute", cronWindow("x", "61 * * * *", "UTC", time.Hour), `schedule window x: expression "61 * * * *" is not a line of cron: `},
		{"name of a day", cronWindow("x", "0 2 * * FUNDAY", "UTC", time.Hour), `schedule window x: expression "0 2 * * FUNDAY" is not a line of cron: `},
		{"zone", cronWindow("x", "0 2 * * *", "Mars/Olympus", time.Hour), `schedule window x: timeZone "Mars/Olympus" is not known: use an IANA name`},
		{"a file", cronWindow("x", "0 2 * * *", "../../etc/passwd", time.Hour), `schedule window x: timeZone "../../etc/passwd" is not known`},
	} {
		t.Run(test.name, func(t *testing.T) {
			good := cronWindow("good", "@hourly", "UTC", 10*time.Minute)
			c := calendarAt(&v1alpha1.Schedule{Windows: []v1alpha1.Window{test.window, good}}, noon)
			if c.invalid == nil || !strings.HasPrefix(c.invalid.Error(), test.want) {
				t.Errorf("%v, want %s…", c.invalid, test.want)
			}
			if c.active == nil || c.active.Name != "good" {
				t.Errorf("the other window must count: %v", c.active)
			}
			// Whoever suspends a schedule is still told that it is broken.
			c = calendarAt(&v1alpha1.Schedule{Suspend: true, Windows: []v1alpha1.Window{test.window}}, noon)
			if c.invalid == nil {
				t.Error("not told while suspended")
			}
		})
	}
}

// The time decides and nothing else: an operator that was away over a boundary does
// what one would have done that was there.
func TestDownOverABoundary(t *testing.T) {
	m := sample(func(m *v1alpha1.MaintPage) {
		m.Spec.Schedule = &v1alpha1.Schedule{Windows: []v1alpha1.Window{onceWindow(t, "w", "2026-06-01T12:30:00Z", "2026-06-01T13:00:00Z")}}
	})
	for _, test := range []struct {
		name   string
		status func(*v1alpha1.MaintPage)
		now    time.Duration
		want   side
	}{
		{"away over the begin", func(*v1alpha1.MaintPage) {}, 45 * time.Minute, pageSide},
		{"away over the end", publishedFor(v1alpha1.CauseSchedule), 2 * time.Hour, appSide},
		{"away over all of it", func(*v1alpha1.MaintPage) {}, 2 * time.Hour, appSide},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := m.DeepCopy()
			test.status(m)
			seen := world(m)
			seen.now = noon.Add(test.now)
			if d := demanded(m, seen); d.side != test.want {
				t.Errorf("%+v", d)
			}
		})
	}
}
