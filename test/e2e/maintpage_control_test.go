// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"
)

// plainSwitches is how often the page is switched without care.
const plainSwitches = 4

// The control to TestMaintPageSwitch: the same load and the same deletions, and
// switches as a script makes them. The page's pod is started when it is needed, the
// Service is patched without a look, and no pod waits before it ends. Requests must
// fail, or the visitor could not see it when they do.
func TestMaintPageControl(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	ns := newNamespace(t, baseline)
	ns.apply(t, plainApp("httpd", 3)+`
---
apiVersion: v1
kind: Service
metadata: {name: httpd}
spec:
  selector: {app: httpd}
  ports: [{port: 8080}]`)
	ns.waitFor(t, "deployment/httpd", "condition=Available")
	visitor := startVisitor(t, ns, "httpd", visitRate, "")

	deleting := deletePods(random, ns, "app=httpd")
	patch := func(app string) {
		ns.kubectl(t, "patch", "service", "httpd", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"selector":{"app":%q}}}`, app))
	}
	for range plainSwitches / 2 {
		ns.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: page, labels: {app: page}}
spec:
  containers: [{name: page, image: "quay.io/daein/maintpage:latest"}]`)
		patch("page")
		time.Sleep(between(random, 2*time.Second, 4*time.Second))
		patch("httpd")
		ns.kubectl(t, "delete", "pod", "page")
		time.Sleep(between(random, 2*time.Second, 4*time.Second))
	}
	deleted := deleting.end(t)
	r := visitor.report(t)
	t.Logf("%d plain switches, %d pods deleted: %v", plainSwitches, deleted, r)
	if r.Failed == 0 {
		t.Error("no request failed in switches without care: the visitor does not see failures")
	}
}

// plainApp is a Deployment of the application that is labeled with its name.
func plainApp(name string, replicas int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: httpd
        image: quay.io/daein/prodpage:latest
        readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}`, name, replicas)
}
