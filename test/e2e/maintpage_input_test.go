// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

// Input that the API server cannot see to be bad is named in a condition, and nothing is
// switched because of it.
func TestMaintPageBadInputIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, spec, reason string
		words              []string
		// publish is what kubectl is asked for so that the page is published after all.
		publish []string
	}{
		// A person's wish counts, whatever the schedule says.
		{
			"cron", `
  schedule: {windows: [{name: night, cron: {expression: "61 * * * *", duration: 1h}}]}`,
			reasonInvalidSchedule, []string{"night", "61 * * * *"},
			[]string{"patch", "maintpage", "example", "--type=merge", "-p", `{"spec":{"maintpageconfig":{"maintpagetoggle":true}}}`},
		},
		{
			"zone", `
  schedule: {windows: [{name: night, cron: {expression: "0 2 * * *", timeZone: Mars/Olympus, duration: 1h}}]}`,
			reasonInvalidSchedule, []string{"night", "Mars/Olympus"},
			[]string{"patch", "maintpage", "example", "--type=merge", "-p", `{"spec":{"maintpageconfig":{"maintpagetoggle":true}}}`},
		},
		{
			"configmap", `
  maintpageconfig: {maintpagetoggle: true}
  page: {configMapRef: {name: missing}}`,
			reasonContentMissing, []string{"missing"},
			[]string{"create", "configmap", "missing", "--from-literal=index.html=<h1>Page</h1>"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, baseline)
			ns.apply(t, maintPage("example", `
  appconfig: {appname: httpd, appimage: "quay.io/daein/prodpage:latest"}`+c.spec))
			waitDegraded(t, ns, "example", c.reason, c.words...)
			ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
			assertPublished(t, ns, false)
			if selector := ns.kubectl(t, "get", "service", "httpd", "-o", "jsonpath={.spec.selector.app}"); selector != "httpd" {
				t.Errorf("the Service selects %q", selector)
			}
			ns.kubectl(t, c.publish...)
			ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}=Published")
		})
	}
}

func TestMaintPageBadInputIsRefused(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	for _, c := range []struct {
		name, spec, want string
	}{
		{"application named like the resource", `
  appconfig: {appname: example, appimage: app}`, "appname must differ from metadata.name"},
		{"window that ends before it starts", `
  appconfig: {appname: httpd, appimage: app}
  schedule: {windows: [{name: night, once: {start: "2030-01-02T00:00:00Z", end: "2030-01-01T00:00:00Z"}}]}`, "end must be after start"},
		{"two pages", `
  appconfig: {appname: httpd, appimage: app}
  page: {html: "<h1>Page</h1>", configMapRef: {name: page}}`, "page.html and page.configMapRef cannot both be set"},
		{"no image", `
  appconfig: {appname: httpd}`, "appconfig.appimage is required"},
	} {
		out, err := ns.tryApply(maintPage("example", c.spec))
		if err == nil {
			t.Errorf("%s is accepted", c.name)
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: the message does not say %q:\n%s", c.name, c.want, out)
		}
	}
}
