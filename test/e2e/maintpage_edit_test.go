// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// A selector that is changed by hand is put back at once. Against a tool that keeps
// changing it the operator does not fight on: it says who it is, and waits longer.
func TestMaintPageHandEdits(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, baseline)
	ns.apply(t, sample(t, "maintpage_v1alpha1_maintpage.yaml"))
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")
	waitSettled(t, ns)
	selector := func() string {
		return ns.kubectl(t, "get", "service", "httpd", "-o", "jsonpath={.spec.selector}")
	}
	edit := func(manager string) {
		ns.kubectl(t, "patch", "service", "httpd", "--field-manager="+manager, "--type=merge", "-p", `{"spec":{"selector":{"app":"other","tier":"web"}}}`)
	}

	own := selector()
	waitBack := func() {
		began := time.Now()
		eventually(t, func() error {
			if now := selector(); now != own {
				return fmt.Errorf("the selector is %s, want %s", now, own)
			}
			return nil
		})
		t.Logf("the selector was back after %.1f s", time.Since(began).Seconds())
	}
	edit("kubectl-edit")
	waitBack()

	eventually(t, func() error {
		if selector() == own {
			edit("gitops-tool")
		}
		c := meta.FindStatusCondition(getMaintPage(t, ns, "example").Status.Conditions, v1alpha1.ConditionDegraded)
		if c == nil || c.Status != "True" || c.Reason != reasonSelectorContested {
			return fmt.Errorf("want Degraded for %s, it is %+v", reasonSelectorContested, c)
		}
		return nil
	})
	waitDegraded(t, ns, "example", reasonSelectorContested, "gitops-tool")
	// The tool has stopped.
	waitBack()
	ns.waitFor(t, "maintpage/example", "condition=Degraded=False")
}
