// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
)

// shop is an application that was there before: it has a selector of two keys, ports by
// name, and marks of others on it. Its pods wait before they end, as the pods of
// anybody have to who does not want to fail requests.
const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, labels: {team: a}, annotations: {example.com/owner: team-a}}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop, tier: web}}
  template:
    metadata: {labels: {app: shop, tier: web, version: v1}}
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: web
        image: quay.io/daein/prodpage:latest
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {tcpSocket: {port: http}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 3}}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: v1
kind: Service
metadata: {name: shop, labels: {team: a}, annotations: {example.com/owner: team-a}}
spec:
  selector: {app: shop, tier: web}
  sessionAffinity: None
  ports:
  - {name: web, port: 8080, targetPort: http, appProtocol: http}
  - {name: metrics, port: 9090, targetPort: 9090}
`

const adoptShop = `
  adopt: true
  appconfig: {appname: shop}
  page: {title: Back soon}
  drainSeconds: 1`

const shopPage = "503 Back soon"

// An application that exists is put behind a page and given back as it was, without a
// failed request.
func TestMaintPageAdopt(t *testing.T) {
	t.Parallel()
	ns, service, deployment := newShop(t)
	visitor := startVisitor(t, ns, "shop", 100, "")
	// The page's pod is only about to start.
	ns.apply(t, maintPage("example", adoptShop+`
  maintpageconfig: {maintpagetoggle: true}`))
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	visitor.expect(t, shopPage)
	if d := difference(t, deployment, content(t, ns, "deployment/shop")); d != "" {
		t.Errorf("the adopted Deployment has changed: %s", d)
	}
	visitor.sees(t, shopPage)
	visitor.expect(t, "")
	publish(t, ns, false)
	visitor.expect(t, appText)
	visitor.sees(t, appText)
	visitor.expect(t, "")

	// Deleted while it is published.
	publish(t, ns, true)
	ns.kubectl(t, "delete", "maintpage", "example", "--timeout="+patience.String())
	assertRestored(t, ns, service, deployment)
	visitor.sees(t, appText)
	r := visitor.report(t)
	t.Log(r)
	r.assertServed(t)
}

// When adopt becomes false the application is given back too. It is then nobody's, and
// in the way of the one that is asked for.
func TestMaintPageAdoptEnds(t *testing.T) {
	t.Parallel()
	ns, service, deployment := newShop(t)
	ns.apply(t, maintPage("example", adoptShop))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	publish(t, ns, true)
	visitor := startVisitor(t, ns, "shop", 100, "")
	ns.kubectl(t, "patch", "maintpage", "example", "--type=merge", "-p",
		`{"spec":{"adopt":false,"appconfig":{"appimage":"quay.io/daein/prodpage:latest"}}}`)
	waitDegraded(t, ns, "example", reasonNotOwned, "Service "+ns.name+"/shop", "set adopt to true")
	visitor.sees(t, appText)
	assertRestored(t, ns, service, deployment)
	visitor.report(t).assertServed(t)
}

// Without adopt, what somebody else made is not touched.
func TestMaintPageLeavesForeignObjectsAlone(t *testing.T) {
	t.Parallel()
	ns, service, deployment := newShop(t)
	ns.apply(t, maintPage("example", `
  maintpageconfig: {maintpagetoggle: true}
  appconfig: {appname: shop, appimage: "quay.io/daein/prodpage:latest"}`))
	waitDegraded(t, ns, "example", reasonNotOwned, "Service "+ns.name+"/shop", "set adopt to true")
	assertRestored(t, ns, service, deployment)
	assertPublished(t, ns, false)
	ns.kubectl(t, "delete", "maintpage", "example", "--timeout="+patience.String())
	assertRestored(t, ns, service, deployment)
}

// Of two resources that claim an application the second is refused, and has it when the
// first is gone.
func TestMaintPageClaimedTwice(t *testing.T) {
	t.Parallel()
	ns, service, deployment := newShop(t)
	ns.apply(t, maintPage("example", adoptShop))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	waitSettled(t, ns)
	ns.apply(t, maintPage("second", adoptShop+`
  maintpageconfig: {maintpagetoggle: true}`))
	waitDegraded(t, ns, "second", reasonAppClaimed, "example")
	assertPublished(t, ns, false)
	if s := getMaintPage(t, ns, "second").Status.MaintPublishStatus; s == "Published" {
		t.Error("the second resource says that it has published")
	}
	ns.kubectl(t, "delete", "maintpage", "example", "--timeout="+patience.String())
	ns.waitFor(t, "maintpage/second", "jsonpath={.status.maintpublishstatus}=Published")
	ns.kubectl(t, "delete", "maintpage", "second", "--timeout="+patience.String())
	assertRestored(t, ns, service, deployment)
}

// A namespace that is deleted takes an adopted application with it, and nothing waits
// for the application to be given back.
func TestMaintPageNamespaceDeletion(t *testing.T) {
	t.Parallel()
	ns := namespace{"maintpage-namespace-deletion"}
	kubectl(t, "create", "namespace", ns.name)
	ns.apply(t, shop)
	ns.apply(t, maintPage("example", adoptShop+`
  maintpageconfig: {maintpagetoggle: true}`))
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
	kubectl(t, "delete", "namespace", ns.name, "--timeout="+patience.String())
}

// newShop makes a namespace with the application in it, and returns what its Service
// and its Deployment are.
func newShop(t *testing.T) (ns namespace, service, deployment map[string]any) {
	t.Helper()
	ns = newNamespace(t, restricted)
	ns.apply(t, shop)
	ns.waitFor(t, "deployment/shop", "jsonpath={.status.readyReplicas}=2")
	return ns, content(t, ns, "service/shop"), content(t, ns, "deployment/shop")
}

// assertRestored checks that the application is as it was before.
func assertRestored(t *testing.T, ns namespace, service, deployment map[string]any) {
	t.Helper()
	if d := difference(t, service, content(t, ns, "service/shop")); d != "" {
		t.Errorf("the Service is not as it was: %s", d)
	}
	if d := difference(t, deployment, content(t, ns, "deployment/shop")); d != "" {
		t.Errorf("the Deployment is not as it was: %s", d)
	}
}
