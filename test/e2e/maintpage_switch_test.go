// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// visitRate is more than the 200 requests a second that are promised to be made.
	visitRate     = 240
	leastRate     = 200
	shortSwitches = 20
)

// switches is how often the page is switched; `make soak` asks for more.
func switches(t *testing.T) int {
	t.Helper()
	given := os.Getenv("SWITCHES")
	if given == "" {
		return shortSwitches
	}
	n, err := strconv.Atoi(given)
	if err != nil {
		t.Fatalf("SWITCHES: %v", err)
	}
	return n
}

// No request fails because the page is switched, however busy the Service is and
// whatever pods are deleted meanwhile, as long as one is left; and when the status says
// that traffic has moved, it has. TestMaintPageControl shows what happens otherwise. It
// is not parallel: what fails must not be the machine.
func TestMaintPageSwitch(t *testing.T) {
	random := newRandom(t)
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpageimage: "quay.io/daein/maintpage:latest"}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest", replicas: 3}
  page: {replicas: 2}
  drainSeconds: 1`))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	ns.waitFor(t, "deployment/httpd", "jsonpath={.status.readyReplicas}=3")
	visitor := startVisitor(t, ns, "httpd", visitRate, "")
	visitor.expect(t, appText)

	deleting := deletePods(random, ns, "app=httpd", "app=example")
	published := false
	total := switches(t)
	var longest time.Duration
	restless := 0
	for range total {
		time.Sleep(between(random, 0, 2*time.Second))
		visitor.expect(t, "")
		begin := time.Now()
		if random.IntN(5) == 0 {
			restless++
			published = toggleBackAndForth(t, random, ns)
			waitSettled(t, ns)
			assertPublished(t, ns, published)
		} else {
			published = !published
			ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p",
				fmt.Sprintf(`{"spec":{"drainSeconds":%d,"maintpageconfig":{"maintpagetoggle":%t}}}`, random.IntN(3), published))
			ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}="+publishStatus(published))
		}
		longest = max(longest, time.Since(begin))
		visitor.expect(t, map[bool]string{false: appText, true: pageText}[published])
	}
	deleted := deleting.end(t)
	r := visitor.report(t)
	t.Logf("%d switches, %d of them back and forth, the longest in %.1f s, %d pods deleted: %v", total, restless, longest.Seconds(), deleted, r)
	r.assertServed(t)
	if rate := float64(r.Requests) / r.Seconds; rate < leastRate {
		t.Errorf("the visitor made %.0f requests a second, want %d", rate, leastRate)
	}
	if len(r.Pages["new"]) != 2 || len(r.Pages["kept"]) != 2 {
		t.Errorf("the visitor should have seen both pages on both kinds of connections: %v", r.Pages)
	}
}

// toggleBackAndForth does not wait for one switch before it asks for the next. It
// returns what was asked for last.
func toggleBackAndForth(t *testing.T, random *rand.Rand, ns namespace) bool {
	t.Helper()
	published := random.IntN(2) == 0
	for range 2 + random.IntN(4) {
		published = !published
		toggle(t, ns, published)
		time.Sleep(between(random, 0, time.Second))
	}
	return published
}

// A pod that is killed takes with it what it held, and nothing else fails.
func TestMaintPageSwitchKilledPods(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpageimage: "quay.io/daein/maintpage:latest"}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest", replicas: 3}
  page: {replicas: 2}
  drainSeconds: 0`))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	ns.waitFor(t, "deployment/httpd", "jsonpath={.status.readyReplicas}=3")
	// Each request takes a while, so that a pod always holds some.
	visitor := startVisitor(t, ns, "httpd", 100, "?wait=200ms")
	for _, side := range []struct {
		published bool
		label     string
	}{{false, "app=httpd"}, {true, "app=example"}} {
		toggle(t, ns, side.published)
		waitSettled(t, ns)
		visitor.reset(t)
		pods, err := readyPods(ns, side.label)
		if err != nil || len(pods) < 2 {
			t.Fatalf("%d pods of %s are ready: %v", len(pods), side.label, err)
		}
		ns.kubectl(t, "delete", "pod", pods[0].Name, "--grace-period=0", "--force")
		eventually(t, func() error {
			now, err := readyPods(ns, side.label)
			if err == nil && len(now) < len(pods) {
				err = fmt.Errorf("%d pods of %s are ready", len(now), side.label)
			}
			return err
		})
		r := visitor.report(t)
		t.Logf("a pod of %s was killed: %v, %d at most under way at a time: %v", side.label, r, r.MostUnanswered, r.FirstFailures)
		if r.Failed > r.MostUnanswered {
			t.Errorf("%d requests failed, and at most %d were under way at a time: %q", r.Failed, r.MostUnanswered, r.FirstFailures)
		}
	}
}
