// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// The page covers an outage, after a while and until the application has been back for
// a while: one that comes and goes does not make the page come and go.
func TestMaintPageOutage(t *testing.T) {
	t.Parallel()
	const (
		after       = 3 * time.Second
		returnAfter = 8 * time.Second
		// Kubernetes writes times in whole seconds.
		rounding = time.Second
	)
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpageimage: "quay.io/daein/maintpage:latest"}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}
  publishOnOutage: {afterSeconds: 3, returnAfterSeconds: 8}
  drainSeconds: 0`))
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	// An application that takes longer to start than an outage may last is out, and the
	// page covers that too.
	before := 0
	eventually(t, func() error {
		status := getMaintPage(t, ns, "example").Status
		before = len(status.History)
		if before > 0 && (status.History[0].To != v1alpha1.StatusNotPublished || status.History[0].CompletionTime.IsZero()) {
			return fmt.Errorf("the page still covers the start: %+v", status.History)
		}
		return nil
	})
	visitor := startVisitor(t, ns, "httpd", 50, "")
	scale := func(replicas string) {
		ns.kubectl(t, "scale", "deployment/httpd", "--replicas="+replicas)
	}

	pods, err := readyPods(ns, "app=httpd")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods are ready: %v", len(pods), err)
	}
	lost := time.Now()
	ns.get(t, pods[0].Name, "close")
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	if took := time.Since(lost); took < after-rounding {
		t.Errorf("an outage was covered after %v, want %v", took, after)
	} else {
		t.Logf("an outage was covered after %.1f s", took.Seconds())
	}
	status := getMaintPage(t, ns, "example").Status
	if status.Cause != v1alpha1.CauseOutage {
		t.Errorf("the cause is %q", status.Cause)
	}
	if newest := status.History[0]; newest.Cause != v1alpha1.CauseOutage || newest.To != v1alpha1.StatusPublished {
		t.Errorf("the newest switch is %+v", newest)
	}
	visitor.sees(t, pageText)

	visitor.expect(t, pageText)
	scale("0")
	for range 2 {
		scale("1")
		ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
		scale("0")
		ns.waitFor(t, "maintpage/example", "condition=AppAvailable=False")
	}
	if history := getMaintPage(t, ns, "example").Status.History; len(history) != before+1 {
		t.Errorf("an application that comes and goes made the page come and go: %+v", history)
	}
	visitor.expect(t, "")
	scale("1")
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	back := time.Now()
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Not Published")
	if took := time.Since(back); took < returnAfter-rounding-time.Second {
		t.Errorf("traffic returned after %v, want %v", took, returnAfter)
	} else {
		t.Logf("traffic returned after %.1f s", took.Seconds())
	}
	visitor.sees(t, appText)
	status = getMaintPage(t, ns, "example").Status
	if len(status.History) != before+2 || status.History[0].Cause != v1alpha1.CauseOutage {
		t.Errorf("there should be two switches for an outage: %+v", status.History)
	}
	if r := visitor.report(t); r.Wrong > 0 {
		t.Errorf("%d requests saw the application while it was not to be relied on: %q", r.Wrong, r.FirstWrong)
	}
}
