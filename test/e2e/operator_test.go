// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// operators are both, as `make deploy` names them.
var operators = []struct {
	name, namespace, deployment, metrics, crd string
}{
	{"memcached", "memcached-operator-system", "memcached-operator-controller-manager", "memcached-operator-metrics", "memcacheds.cache.example.com"},
	{"maintpage", "maintpage-operator-system", "maintpage-operator-controller-manager", "maintpage-operator-metrics", "maintpages.maintpage.example.com"},
}

func TestOperatorLeadsAndLogsStructured(t *testing.T) {
	for _, o := range operators {
		lease := kubectl(t, "get", "lease", "-n", o.namespace, "-o", "jsonpath={.items[*].spec.holderIdentity}")
		if !strings.HasPrefix(lease, o.deployment) {
			t.Errorf("%s: the lease is held by %q", o.name, lease)
		}
		if enforced := kubectl(t, "get", "namespace", o.namespace, "-o", `jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`); enforced != "restricted" {
			t.Errorf("%s: pod security is %q", o.name, enforced)
		}
		for line := range strings.Lines(kubectl(t, "logs", "-n", o.namespace, "deployment/"+o.deployment)) {
			var entry struct{ Level, Msg string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" {
				t.Errorf("%s: not a structured line: %s", o.name, line)
			}
		}
	}
}

func TestMetricsAreForTheAuthorizedOnly(t *testing.T) {
	ns := newNamespace(t, restricted)
	ns.kubectl(t, "create", "serviceaccount", "nobody")
	for _, o := range operators {
		scraper := newScraper(t, ns, o.name)
		url := metricsURL(t, o.namespace, "deployment/"+o.deployment)
		for _, c := range []struct {
			name, token string
			status      int
		}{
			{"a stranger", "", http.StatusUnauthorized},
			{"an account without the right", strings.TrimSpace(ns.kubectl(t, "create", "token", "nobody")), http.StatusForbidden},
			{"an account with the right", scraper, http.StatusOK},
		} {
			// A new binding is seen by the API server's authorizer a moment later.
			eventually(t, func() error {
				status, body, err := readMetrics(url, c.token)
				if err != nil {
					return err
				}
				if status != c.status {
					return fmt.Errorf("%s: %s gets %d, want %d", o.name, c.name, status, c.status)
				}
				if c.status == http.StatusOK && !strings.Contains(body, "controller_runtime_reconcile_total") {
					return fmt.Errorf("%s: no reconciles in the metrics", o.name)
				}
				return nil
			})
		}
	}
}

// newScraper makes an account that may read an operator's metrics, and returns its token.
func newScraper(t *testing.T, ns namespace, operator string) string {
	t.Helper()
	account := operator + "-scraper"
	binding := ns.name + "-" + account
	ns.kubectl(t, "create", "serviceaccount", account)
	kubectl(t, "create", "clusterrolebinding", binding, "--clusterrole="+operator+"-operator-metrics-reader", "--serviceaccount="+ns.name+":"+account)
	t.Cleanup(func() { kubectl(t, "delete", "clusterrolebinding", binding) })
	return strings.TrimSpace(ns.kubectl(t, "create", "token", account))
}

// metricsURL makes the metrics of an operator's pod reachable.
func metricsURL(t *testing.T, namespace, object string) string {
	t.Helper()
	return fmt.Sprintf("https://127.0.0.1:%s/metrics", portForward(t, namespace, object, "8443"))
}

var metricsClient = http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
	InsecureSkipVerify: true, // what is tested is who may read and what, not the self-signed certificate
}}}

func readMetrics(url, token string) (status int, body string, err error) {
	req, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := metricsClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

// metric adds up all series of a metric whose labels contain a text.
func metric(body, name, labels string) int {
	sum := 0.0
	for line := range strings.Lines(body) {
		series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && (series == name || strings.HasPrefix(series, name+"{")) && strings.Contains(series, labels) {
			number, err := strconv.ParseFloat(value, 64)
			if err == nil {
				sum += number
			}
		}
	}
	return int(sum)
}

// restartOperator replaces the pod of the Memcached operator, and returns when the new
// one leads and has reconciled every resource. The namespace is for an account that may
// read its metrics.
func restartOperator(t *testing.T, ns namespace) {
	t.Helper()
	o := operators[0]
	before := leader(t, o.namespace)
	kubectl(t, "rollout", "restart", "-n", o.namespace, "deployment/"+o.deployment)
	kubectl(t, "rollout", "status", "-n", o.namespace, "deployment/"+o.deployment, "--timeout="+patience.String())
	eventually(t, func() error {
		if now := leader(t, o.namespace); now == before || now == "" {
			return fmt.Errorf("the lease is held by %q, as before the restart", now)
		}
		return nil
	})
	resources := strings.Count(kubectl(t, "get", "memcached", "--all-namespaces", "-o", "name"), "\n")
	token := newScraper(t, ns, o.name)
	url := metricsURL(t, o.namespace, "pod/"+leader(t, o.namespace))
	eventually(t, func() error {
		status, body, err := readMetrics(url, token)
		if err != nil || status != http.StatusOK {
			return fmt.Errorf("reading the metrics: %d, %w", status, err)
		}
		const controller = `controller="memcached"`
		done := metric(body, "controller_runtime_reconcile_total", controller)
		active := metric(body, "controller_runtime_active_workers", controller)
		queued := metric(body, "workqueue_depth", controller)
		if done < resources || active > 0 || queued > 0 {
			return fmt.Errorf("%d reconciles of %d resources, %d under way, %d queued", done, resources, active, queued)
		}
		return nil
	})
}

// leader is the pod that holds the lease of an operator.
func leader(t *testing.T, namespace string) string {
	t.Helper()
	holder := kubectl(t, "get", "lease", "-n", namespace, "-o", "jsonpath={.items[*].spec.holderIdentity}")
	pod, _, _ := strings.Cut(holder, "_")
	return pod
}

// portForward opens a port of this machine to one of a pod and returns its number.
func portForward(t *testing.T, namespace, object, port string) string {
	t.Helper()
	number, end := startForward(t, namespace, object, port)
	t.Cleanup(end)
	return number
}

// startForward does it until it is ended.
func startForward(t *testing.T, namespace, object, port string) (number string, end func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/kubectl"), "port-forward", "-n", namespace, object, ":"+port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
		cmd.Wait()         //nolint:errcheck // it was killed
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		end()
		t.Fatal(err)
	}
	found := regexp.MustCompile(`127\.0\.0\.1:(\d+) ->`).FindStringSubmatch(line)
	if found == nil {
		end()
		t.Fatalf("kubectl port-forward said %q", line)
	}
	return found[1], end
}

// Undeploying with resources present must neither hang nor leave anything.
func TestUndeploy(t *testing.T) {
	ns := newNamespace(t, baseline)
	ns.apply(t, sample(t, "cache_v1alpha1_memcached.yaml"))
	ns.apply(t, sample(t, "maintpage_v1alpha1_maintpage.yaml"))
	ns.waitFor(t, "memcached/memcached-sample", "condition=Available")
	ns.waitFor(t, "maintpage/example", "condition=AppAvailable")

	if _, err := command("make", "undeploy"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := deploy(); err != nil {
			t.Error(err)
		}
	})
	assertNothingLeft(t, ns)
	all := kubectl(t, "get", "crd,namespace,clusterrole,clusterrolebinding", "-o", "name")
	for _, o := range operators {
		for line := range strings.Lines(all) {
			if strings.Contains(line, o.name+"-operator") || strings.Contains(line, o.crd) {
				t.Errorf("left in the cluster: %s", line)
			}
		}
	}
}
