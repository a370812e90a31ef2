// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
)

// Reasons of Degraded.
const (
	reasonInvalidSchedule   = "InvalidSchedule"
	reasonContentMissing    = "ContentMissing"
	reasonAppClaimed        = "AppClaimed"
	reasonSelectorContested = "SelectorContested"
	reasonNotOwned          = "NotOwned"
)

// maintPage is a manifest with a spec, which is indented by two.
func maintPage(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: maintpage.example.com/v1alpha1
kind: MaintPage
metadata: {name: %s}
spec:
%s`, name, spec)
}

// getMaintPage reads a resource.
func getMaintPage(t *testing.T, ns namespace, name string) *v1alpha1.MaintPage {
	t.Helper()
	m := &v1alpha1.MaintPage{}
	if err := json.Unmarshal([]byte(ns.kubectl(t, "get", "maintpage", name, "-o", "json")), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func publishStatus(published bool) string {
	if published {
		return string(v1alpha1.StatusPublished)
	}
	return string(v1alpha1.StatusNotPublished)
}

// assertPublished checks what the status says now.
func assertPublished(t *testing.T, ns namespace, published bool) {
	t.Helper()
	if s := getMaintPage(t, ns, "example").Status.MaintPublishStatus; string(s) != publishStatus(published) {
		t.Errorf("the status is %q, want %q", s, publishStatus(published))
	}
}

// publish sets the toggle and waits until the status says that traffic has moved.
func publish(t *testing.T, ns namespace, published bool) {
	t.Helper()
	toggle(t, ns, published)
	ns.waitFor(t, "maintpage/example", "jsonpath={.status.maintpublishstatus}="+publishStatus(published))
}

// waitSettled waits until the operator has seen the last change of the resource, and
// the switch that it asked for is done, the drain included.
func waitSettled(t *testing.T, ns namespace) {
	t.Helper()
	eventually(t, func() error {
		m := getMaintPage(t, ns, "example")
		c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionTrafficSwitched)
		if m.Status.ObservedGeneration < m.Generation || c == nil || c.Status != "True" || c.ObservedGeneration < m.Generation {
			return fmt.Errorf("generation %d is not settled: %+v", m.Generation, m.Status)
		}
		return nil
	})
}

// waitDegraded waits until Degraded is true for a reason, and checks what its message says.
func waitDegraded(t *testing.T, ns namespace, name, reason string, words ...string) {
	t.Helper()
	eventually(t, func() error {
		c := meta.FindStatusCondition(getMaintPage(t, ns, name).Status.Conditions, v1alpha1.ConditionDegraded)
		if c == nil || c.Status != "True" || c.Reason != reason {
			return fmt.Errorf("want Degraded for %s, it is %+v", reason, c)
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return fmt.Errorf("the message does not say %q: %s", word, c.Message)
			}
		}
		return nil
	})
}
