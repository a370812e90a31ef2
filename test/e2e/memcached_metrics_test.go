// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every node of a real cluster is there under every name that dashboards know.
func TestMemcachedMetrics(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 3, workload: StatefulSet, monitoring: {port: 80}, networkPolicy: {}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	ns.waitFor(t, "deployment/cache-metrics", "jsonpath={.status.readyReplicas}=1")
	if got := ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoints.metrics} {.status.endpoint}"); got !=
		fmt.Sprintf("http://cache-metrics.%[1]s.svc:80/metrics cache.%[1]s.svc:11211", ns.name) {
		t.Errorf("the endpoints are %s", got)
	}
	// Slab classes without items have no metrics.
	startClient(t, ns, "client", "check", "cache."+ns.name+".svc:11211", "3")
	clientResult(t, ns, "client", &struct{}{})

	url := "http://127.0.0.1:" + portForward(t, ns.name, "service/cache-metrics", "80") + "/metrics"
	said := get(t, url)
	for name := range knownMetrics(t) {
		for _, node := range []string{"cache-0", "cache-1", "cache-2"} {
			if !hasSeries(said, name, fmt.Sprintf("node=%q", node)) {
				t.Errorf("%s of %s is missing", name, node)
			}
		}
	}
	if got := metric(said, "memcached_up", ""); got != 3 {
		t.Errorf("%d nodes are up", got)
	}
	if got := metric(said, "memcached_commands_total", `command="get"`); got < 4000 {
		t.Errorf("%d reads are counted, and there were at least 4000", got)
	}
	if got := metric(said, "memcached_limit_bytes", ""); got != 3*64*mebibyte {
		t.Errorf("the limit of all nodes is %d bytes", got)
	}

	// A node more is scraped as soon as it is listed.
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=4")
	eventually(t, func() error {
		if !strings.Contains(get(t, url), `memcached_up{node="cache-3"} 1`) {
			return fmt.Errorf("cache-3 is not in the metrics")
		}
		return nil
	})
}

// knownMetrics are the names in what the companion says about a memcached of old.
func knownMetrics(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "internal/companion/testdata/metrics.txt"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(line, "{"); ok {
			names[name] = true
		}
	}
	if len(names) < 50 {
		t.Fatalf("only %d names are known", len(names))
	}
	return names
}

func hasSeries(said, name, label string) bool {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			return true
		}
	}
	return false
}

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", url, resp.Status, err, body)
	}
	return string(body)
}

// A ServiceMonitor is made when the cluster knows what that is, and not missed before.
func TestMemcachedServiceMonitor(t *testing.T) {
	t.Parallel()
	const crd = "internal/memcached/testdata/servicemonitors-crd.yaml"
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {monitoring: {serviceMonitor: {intervalSeconds: 15, labels: {release: prometheus}}}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	ns.waitFor(t, "memcached/cache", "condition=Degraded=False")
	if reason := condition(t, ns, "Degraded", "reason"); reason != "ServiceMonitorUnknown" {
		t.Errorf("the reason of Degraded is %s", reason)
	}

	kubectl(t, "apply", "-f", crd)
	t.Cleanup(func() { kubectl(t, "delete", "-f", crd, "--ignore-not-found") })
	eventually(t, func() error {
		out, err := command("bin/kubectl", "--namespace", ns.name, "get", "servicemonitor", "cache", "-o", "jsonpath={.spec.endpoints[0].interval} {.metadata.labels.release}")
		if err == nil && out != "15s prometheus" {
			t.Fatalf("the ServiceMonitor says %s", out)
		}
		return err
	})
	ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=AsExpected`)
	// What it selects is the Service that serves the metrics, and no other.
	if got := ns.kubectl(t, "get", "service", "-l", "app=memcached-metrics,memcached_cr=cache", "-o", "jsonpath={.items[*].metadata.name}"); got != "cache-metrics" {
		t.Errorf("it selects %s", got)
	}
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"monitoring":{"serviceMonitor":null}}}`)
	eventually(t, func() error {
		if left := ns.kubectl(t, "get", "servicemonitor", "-o", "name"); left != "" {
			return fmt.Errorf("left: %s", left)
		}
		return nil
	})

	// The kind goes again, and the operator stays.
	kubectl(t, "delete", "-f", crd)
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=2")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=2/2")
}
