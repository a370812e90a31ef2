// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What the stand-ins for the application and its page answer, see test/images/page.
const (
	appText  = "200 Production Page !"
	pageText = "200 Maintenance Page !"
)

// visitorSeconds is when a visitor ends by itself, if its test does not end before.
const visitorSeconds = 3600

// A visitor is a pod that asks a Service for its page many times a second and counts
// what it gets, see test/images/visitor.
type visitor struct {
	ns namespace
}

// report is what a visitor has counted.
type report struct {
	Seconds        float64
	Requests       int
	Pages          map[string]map[string]seenPage
	Failed         int
	Failures       map[string]int
	FirstFailures  []string
	Wrong          int
	FirstWrong     []string
	Slowest        float64
	MostUnanswered int
}

// seenPage is how often a visitor got a page, and when.
type seenPage struct {
	Count       int
	First, Last time.Time
}

func (r report) String() string {
	kinds := ""
	for _, connection := range []string{"new", "kept"} {
		for kind, page := range r.Pages[connection] {
			kinds += fmt.Sprintf(", %d %q on %s connections", page.Count, kind, connection)
		}
	}
	return fmt.Sprintf("%d requests in %.0f s (%.0f a second)%s; %d failed %v, %d wrong, the slowest took %.2f s",
		r.Requests, r.Seconds, float64(r.Requests)/r.Seconds, kinds, r.Failed, r.Failures, r.Wrong, r.Slowest)
}

// startVisitor starts a visitor of a Service at port 8080 with a number of requests a second. The
// query is what it asks for, such as "?wait=200ms".
func startVisitor(t *testing.T, ns namespace, service string, rate int, query string) visitor {
	t.Helper()
	ns.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: visitor}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: visitor
    image: quay.io/daein/visitor:latest
    args: ["http://%s.%s.svc.cluster.local:8080/%s", "%d", "%d"]
    readinessProbe: {tcpSocket: {port: 9090}, periodSeconds: 1}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}`, service, ns.name, query, rate, visitorSeconds))
	ns.waitFor(t, "pod/visitor", "condition=Ready")
	v := visitor{ns}
	eventually(t, func() error {
		if r := v.report(t); r.Requests-r.Failed < rate {
			return fmt.Errorf("the visitor is not served: %v %q", r, r.FirstFailures)
		}
		return nil
	})
	v.reset(t)
	return v
}

// get asks for something at a pod's second port, by way of the API server.
func (n namespace) get(t *testing.T, pod, path string) string {
	t.Helper()
	return kubectl(t, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:9090/proxy/%s", n.name, pod, path))
}

// report is what was counted since the last reset.
func (v visitor) report(t *testing.T) report {
	t.Helper()
	return parseReport(t, v.ns.get(t, "visitor", "report"))
}

// reset counts from zero, and returns what was counted up to then.
func (v visitor) reset(t *testing.T) report {
	t.Helper()
	return parseReport(t, v.ns.get(t, "visitor", "reset"))
}

func parseReport(t *testing.T, said string) report {
	t.Helper()
	var r report
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		t.Fatalf("the visitor said %q: %v", said, err)
	}
	return r
}

// expect says what every request must get that begins after it on a new connection. An
// empty text is anything.
func (v visitor) expect(t *testing.T, text string) {
	t.Helper()
	v.ns.get(t, "visitor", "expect?text="+url.QueryEscape(text))
}

// sees waits until the visitor has got nothing else for a second on new connections.
func (v visitor) sees(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() error {
		r := v.report(t)
		seen := false
		for kind, page := range r.Pages["new"] {
			recent := time.Since(page.Last) < time.Second
			if recent && !strings.Contains(kind, text) {
				return fmt.Errorf("the visitor sees %q, want %q: %v", kind, text, r)
			}
			seen = seen || recent
		}
		if !seen {
			return fmt.Errorf("the visitor does not see %q: %v", text, r)
		}
		return nil
	})
}

// ask makes one request that is not counted, and returns the whole answer with its headers.
func (v visitor) ask(t *testing.T, accept string) string {
	t.Helper()
	return v.ns.get(t, "visitor", "ask?accept="+url.QueryEscape(accept))
}

// assertServed checks that no request failed and none got a page that was not expected.
func (r report) assertServed(t *testing.T) {
	t.Helper()
	if r.Requests == 0 {
		t.Error("the visitor made no requests")
	}
	if r.Failed > 0 {
		t.Errorf("%d of %d requests failed, the first of them:\n%s", r.Failed, r.Requests, strings.Join(r.FirstFailures, "\n"))
	}
	if r.Wrong > 0 {
		t.Errorf("%d of %d requests got the wrong page, the first of them:\n%s", r.Wrong, r.Requests, strings.Join(r.FirstWrong, "\n"))
	}
}
