// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// The resource of the walkthrough as it stands: an application that is served,
// a page that takes its place, and back.
func TestMaintPageWalkthrough(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, sample(t, "maintpage_v1alpha1_maintpage.yaml"))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	ns.waitFor(t, "maintpage/example", "condition=MaintPageReady")
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Not Published")
	ns.waitFor(t, "pod/example-maintpage-pod", "condition=Ready")
	if got := ns.kubectl(t, "get", "service", "httpd", "-o", "jsonpath={.spec.ports[0].name} {.spec.ports[0].port}"); got != "8080-tcp 8080" {
		t.Errorf("the Service's port is %q", got)
	}

	watch(t, ns)
	assertServed(t, ns, "Production Page !")
	toggle(t, ns, true)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	// The application still has half a minute to finish what it holds.
	ns.waitFor(t, "maintpage/example", "condition=TrafficSwitched=False")
	assertServed(t, ns, "Maintenance Page !")
	toggle(t, ns, false)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Not Published")
	assertServed(t, ns, "Production Page !")

	ns.kubectl(t, "set", "image", "deployment/httpd", "httpd=quay.io/daein/prodpage:notfound")
	eventually(t, func() error {
		if got := ns.kubectl(t, "get", "deployment", "httpd", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != "quay.io/daein/prodpage:latest" {
			return fmt.Errorf("the image is %s", got)
		}
		return nil
	})
}

func toggle(t *testing.T, ns namespace, published bool) {
	t.Helper()
	ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"maintpageconfig":{"maintpagetoggle":%t}}}`, published))
}

// watch starts a pod that asks the Service for its page again and again.
func watch(t *testing.T, ns namespace) {
	t.Helper()
	ns.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: watch}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: get
    image: quay.io/daein/get:latest
    args: ["http://httpd.%s.svc.cluster.local:8080", "600"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}`, ns.name))
	ns.waitFor(t, "pod/watch", "condition=Ready")
}

// assertServed waits until the page that is served is the wanted one.
func assertServed(t *testing.T, ns namespace, want string) {
	t.Helper()
	eventually(t, func() error {
		lines := strings.Split(strings.TrimSpace(ns.kubectl(t, "logs", "watch", "--tail=3")), "\n")
		for _, line := range lines {
			if len(lines) < 3 || !strings.HasSuffix(line, want) {
				return fmt.Errorf("served: %q", lines)
			}
		}
		return nil
	})
}
