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
	ns.kubectl(t, "create", "serviceaccount", "scraper")
	ns.kubectl(t, "create", "serviceaccount", "nobody")
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // what is tested is who may read, not the self-signed certificate
	}}}
	for _, o := range operators {
		binding := o.name + "-e2e-scraper"
		kubectl(t, "create", "clusterrolebinding", binding, "--clusterrole="+o.name+"-operator-metrics-reader", "--serviceaccount="+ns.name+":scraper")
		t.Cleanup(func() { kubectl(t, "delete", "clusterrolebinding", binding) })
		url := fmt.Sprintf("https://127.0.0.1:%s/metrics", portForward(t, o.namespace, "deployment/"+o.deployment, "8443"))
		for _, c := range []struct {
			account string
			status  int
		}{
			{"", http.StatusUnauthorized},
			{"nobody", http.StatusForbidden},
			{"scraper", http.StatusOK},
		} {
			token := ""
			if c.account != "" {
				token = strings.TrimSpace(ns.kubectl(t, "create", "token", c.account))
			}
			// A new binding is seen by the API server's authorizer a moment later.
			eventually(t, func() error {
				req, err := http.NewRequest(http.MethodGet, url, nil)
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				resp, err := client.Do(req)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				if err != nil {
					return err
				}
				if resp.StatusCode != c.status {
					return fmt.Errorf("%s: %q gets %s, want %d", o.name, c.account, resp.Status, c.status)
				}
				if c.status == http.StatusOK && !strings.Contains(string(body), "controller_runtime_reconcile_total") {
					return fmt.Errorf("%s: no reconciles in the metrics", o.name)
				}
				return nil
			})
		}
	}
}

// portForward opens a port of this machine to one of a pod and returns its number.
func portForward(t *testing.T, namespace, object, port string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(root, "bin/kubectl"), "port-forward", "-n", namespace, object, ":"+port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
		cmd.Wait()         //nolint:errcheck // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`127\.0\.0\.1:(\d+) ->`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("kubectl port-forward said %q", line)
	}
	return found[1]
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
	eventually(t, func() error {
		if left := ns.kubectl(t, "get", "deployment,service,pod", "-o", "name"); left != "" && !strings.HasPrefix(left, "No resources") {
			return fmt.Errorf("left in the namespace:\n%s", left)
		}
		return nil
	})
	all := kubectl(t, "get", "crd,namespace,clusterrole,clusterrolebinding", "-o", "name")
	for _, o := range operators {
		for line := range strings.Lines(all) {
			if strings.Contains(line, o.name+"-operator") || strings.Contains(line, o.crd) {
				t.Errorf("left in the cluster: %s", line)
			}
		}
	}
}
