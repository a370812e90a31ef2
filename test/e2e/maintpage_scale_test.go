// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"
)

// While the page is published the application is stopped: nothing reaches it, whoever
// keeps a connection open. It is back as it was before visitors are, even if the
// operator dies on the way. No request fails.
func TestMaintPageScaleToZero(t *testing.T) {
	t.Parallel()
	const drain = 6 * time.Second
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpageimage: "quay.io/daein/maintpage:latest"}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}
  onPublish: ScaleToZero
  drainSeconds: 6`))
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	ns.kubectl(t, "scale", "deployment/httpd", "--replicas=3")
	ns.waitFor(t, "deployment/httpd", "jsonpath={.status.readyReplicas}=3")
	visitor := startVisitor(t, ns, "httpd", 100, "")

	publish(t, ns, true)
	visitor.expect(t, pageText)
	ns.waitFor(t, "deployment/httpd", "jsonpath={.spec.replicas}=0")
	if took := time.Since(getMaintPage(t, ns, "example").Status.History[0].TrafficMovedTime.Time); took < drain {
		t.Errorf("the application was stopped %v after traffic had moved, and it has %v to drain", took, drain)
	}
	killMaintPageOperator(t)
	ns.waitFor(t, "pod -l app=httpd", "delete")
	visitor.reset(t).assertServed(t)
	waitSettled(t, ns)
	time.Sleep(time.Second) // of visits, which are looked at next
	r := visitor.reset(t)
	t.Logf("while the application is stopped: %v", r)
	r.assertServed(t)
	for connection, pages := range r.Pages {
		if pages[appText].Count > 0 || pages[pageText].Count == 0 {
			t.Errorf("on %s connections visitors saw %v while the application was stopped", connection, pages)
		}
	}

	visitor.expect(t, "")
	toggle(t, ns, false)
	killMaintPageOperator(t)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Not Published")
	visitor.expect(t, appText)
	visitor.sees(t, appText)
	r = visitor.report(t)
	t.Logf("the way back: %v", r)
	r.assertServed(t)
	pods, err := readyPods(ns, "app=httpd")
	if err != nil || len(pods) != 3 {
		t.Errorf("%d pods of the application are back, want 3: %v", len(pods), err)
	}
	for _, pod := range pods {
		if first := r.Pages["new"][appText].First; first.Before(readySince(pod)) {
			t.Errorf("the first visitor came back at %v, and pod %s was ready at %v", first, pod.Name, readySince(pod))
		}
	}
}

// killMaintPageOperator deletes the pod of the operator, and does not wait for the next.
func killMaintPageOperator(t *testing.T) {
	t.Helper()
	kubectl(t, "delete", "pod", "-n", operators[1].namespace, "-l", "control-plane=controller-manager", "--wait=false")
}
