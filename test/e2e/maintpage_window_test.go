// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// A window publishes the page by the clock, and tells visitors when it ends. That the
// operator is away when the window opens or closes only makes it late.
func TestMaintPageWindow(t *testing.T) {
	t.Parallel()
	const lead, length = 8 * time.Second, 30 * time.Second
	const resource = `
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}
  page: {title: Back soon}
  drainSeconds: 0`
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", resource))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	visitor := startVisitor(t, ns, "httpd", 50, "")

	start := time.Now().Add(lead).Truncate(time.Second)
	end := start.Add(length)
	ns.apply(t, maintPage("example", resource+fmt.Sprintf(`
  schedule:
    windows:
    - name: upgrade
      once: {start: %s, end: %s}`, start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))))
	eventually(t, func() error {
		next := getMaintPage(t, ns, "example").Status.NextWindow
		if next == nil || next.Name != "upgrade" || !next.Start.Time.Equal(start) || !next.End.Time.Equal(end) {
			return fmt.Errorf("the next window is %+v, want upgrade from %v to %v", next, start, end)
		}
		return nil
	})
	assertPublished(t, ns, false)

	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	status := getMaintPage(t, ns, "example").Status
	if status.Cause != v1alpha1.CauseSchedule {
		t.Errorf("the cause is %q", status.Cause)
	}
	if active := status.ActiveWindow; active == nil || active.Name != "upgrade" || !active.End.Time.Equal(end) {
		t.Errorf("the open window is %+v", active)
	}
	if status.NextWindow != nil {
		t.Errorf("after the only window there is another: %+v", status.NextWindow)
	}
	// It is rounded up, and never less than a few seconds.
	asked := time.Now()
	if after, left := retryAfter(t, visitor), end.Sub(asked); after < 1 || after > max(int(left.Seconds())+1, 5) {
		t.Errorf("visitors were told to come back after %d s, and the window closed %v later", after, left)
	}

	time.Sleep(time.Until(end.Add(-500 * time.Millisecond)))
	assertPublished(t, ns, true)
	killMaintPageOperator(t)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Not Published")
	visitor.sees(t, appText)
	status = getMaintPage(t, ns, "example").Status
	if status.ActiveWindow != nil || status.Cause != "" {
		t.Errorf("the window is over, and the status says %+v, %q", status.ActiveWindow, status.Cause)
	}
	for i, want := range []struct {
		to        v1alpha1.MaintPublishStatus
		notBefore time.Time
	}{{v1alpha1.StatusNotPublished, end}, {v1alpha1.StatusPublished, start}} {
		s := status.History[i]
		if s.To != want.to || s.Cause != v1alpha1.CauseSchedule || s.StartTime.Time.Before(want.notBefore) {
			t.Errorf("switch %d is %+v, want one to %s for the schedule, not before %v", i, s, want.to, want.notBefore)
		}
	}
	visitor.report(t).assertServed(t)
}

// retryAfter is how many seconds visitors are told to wait.
func retryAfter(t *testing.T, v visitor) int {
	t.Helper()
	said := v.ask(t, "text/html")
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(said)), nil)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the answer is %s", answer.Status)
	}
	seconds, err := strconv.Atoi(answer.Header.Get("Retry-After"))
	if err != nil {
		t.Errorf("Retry-After: %v in %s", err, said)
	}
	return seconds
}
