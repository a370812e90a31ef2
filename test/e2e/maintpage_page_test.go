// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A page of one pod that is lost while it is published is missed by nobody: another one
// stands in until it is back under its name.
func TestMaintPagePodLost(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, sample(t, "maintpage_v1alpha1_maintpage.yaml"))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	publish(t, ns, true)
	visitor := startVisitor(t, ns, "httpd", 100, "")
	visitor.expect(t, pageText)
	uid := func() string {
		return ns.kubectl(t, "get", "pod", "example-maintpage-pod", "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
	}
	before := uid()
	ns.kubectl(t, "delete", "pod", "example-maintpage-pod")
	eventually(t, func() error {
		if now := uid(); now == "" || now == before {
			return fmt.Errorf("the page's pod is %q, it was %q", now, before)
		}
		return nil
	})
	ns.waitFor(t, "pod/example-maintpage-pod", "condition=Ready")
	waitPagePods(t, ns, 1) // who has stood in goes again
	visitor.sees(t, pageText)
	r := visitor.report(t)
	t.Log(r)
	r.assertServed(t)
}

// A published page gets another image, and more pods and fewer, without a failed request.
func TestMaintPageReplaced(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, sample(t, "maintpage_v1alpha1_maintpage.yaml"))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	publish(t, ns, true)
	visitor := startVisitor(t, ns, "httpd", 100, "")
	visitor.sees(t, pageText)
	patch := func(spec string) {
		ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p", fmt.Sprintf(`{"spec":{%s}}`, spec))
	}
	// The image of the application is as good a page as any.
	patch(`"maintpageconfig":{"maintpageimage":"quay.io/daein/prodpage:latest"}`)
	visitor.sees(t, appText)
	patch(`"page":{"replicas":3}`)
	waitPagePods(t, ns, 3)
	patch(`"page":{"replicas":1}`)
	waitPagePods(t, ns, 1)
	ns.waitFor(t, "pod/example-maintpage-pod", "condition=Ready")
	visitor.sees(t, appText)
	r := visitor.report(t)
	t.Log(r)
	r.assertServed(t)
}

// waitPagePods waits until a number of pods serve the page.
func waitPagePods(t *testing.T, ns namespace, want int) {
	t.Helper()
	eventually(t, func() error {
		pods, err := readyPods(ns, "app=example")
		if err == nil && len(pods) != want {
			err = fmt.Errorf("the page has %d pods, want %d", len(pods), want)
		}
		return err
	})
}

// A page that cannot run is not published, whatever the toggle says.
func TestMaintPageThatCannotRun(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpageimage: "quay.io/daein/maintpage:missing", maintpagetoggle: true}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}`))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	visitor := startVisitor(t, ns, "httpd", 50, "")
	visitor.expect(t, appText)
	waitDegraded(t, ns, "example", "ImagePullBackOff", "example-maintpage-pod", "quay.io/daein/maintpage:missing")
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady=False")
	ns.waitFor(t, "maintpage/example", "condition=TrafficSwitched=False")
	assertPublished(t, ns, false)
	visitor.report(t).assertServed(t)

	visitor.expect(t, "")
	ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p", `{"spec":{"maintpageconfig":{"maintpageimage":"quay.io/daein/maintpage:latest"}}}`)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	visitor.expect(t, pageText)
	visitor.sees(t, pageText)
	visitor.report(t).assertServed(t)
}

// New words, and a new page in a ConfigMap, are shown by the pods that run.
func TestMaintPageContentIsLive(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpagetoggle: true}
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}
  page: {title: Back soon}`))
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	visitor := startVisitor(t, ns, "httpd", 50, "")
	visitor.sees(t, "503 Back soon")
	pods := func() string {
		return ns.kubectl(t, "get", "pods", "-l", "app=example", "-o", "jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount}{end}")
	}
	before := pods()

	ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p", `{"spec":{"page":{"title":"Back sooner"}}}`)
	visitor.sees(t, "503 Back sooner")

	assertHTML := func(words string) {
		eventually(t, func() error {
			if said := visitor.ask(t, "text/html"); !strings.Contains(said, words) {
				return fmt.Errorf("the page does not say %q:\n%s", words, said)
			}
			return nil
		})
	}
	ns.kubectl(t, "create", "configmap", "words", "--from-literal=index.html=<h1>First</h1>")
	ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p", `{"spec":{"page":{"configMapRef":{"name":"words"}}}}`)
	assertHTML("<h1>First</h1>")
	ns.kubectl(t, "patch", "configmap", "words", "--type=merge", "-p", `{"data":{"index.html":"<h1>Second</h1>"}}`)
	assertHTML("<h1>Second</h1>")
	if now := pods(); now != before {
		t.Errorf("the page's pods are %q, they were %q", now, before)
	}
	visitor.report(t).assertServed(t)
}
