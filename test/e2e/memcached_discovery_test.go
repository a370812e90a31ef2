// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// nodeList is the list of nodes as the discovery endpoint serves it.
type nodeList struct {
	Version int
	Nodes   []struct {
		Host, IP string
		Port     int
	}
}

func (l nodeList) hosts() []string {
	var hosts []string
	for _, n := range l.Nodes {
		hosts = append(hosts, fmt.Sprintf("%s:%d", n.Host, n.Port))
	}
	return hosts
}

// discoveryPods are the pods that answer, ready or not.
func discoveryPods(t *testing.T, ns namespace) []string {
	t.Helper()
	return strings.Fields(ns.kubectl(t, "get", "pods", "-l", "app=memcached-discovery,memcached_cr=cache", "-o", "jsonpath={.items[*].metadata.name}"))
}

// listFrom reads the list over HTTP.
func listFrom(port string) (nodeList, error) {
	var list nodeList
	resp, err := http.Get("http://127.0.0.1:" + port + "/nodes.json")
	if err != nil {
		return list, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return list, fmt.Errorf("%s", resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&list)
	return list, err
}

// stableHosts are the addresses of a StatefulSet's nodes, in order.
func stableHosts(ns namespace, size int) []string {
	var hosts []string
	for i := range size {
		hosts = append(hosts, fmt.Sprintf("cache-%d.cache.%s.svc:11211", i, ns.name))
	}
	return hosts
}

// What clients are told while a cluster grows, shrinks and loses a node: the same order,
// and one version for each change.
func TestMemcachedDiscovery(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 3, workload: StatefulSet, discovery: {}, disruption: {}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	if got := ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoint} {.status.endpoints.nodeList}"); got !=
		fmt.Sprintf("cache-discovery.%[1]s.svc:11211 http://cache-discovery.%[1]s.svc:8080/nodes", ns.name) {
		t.Errorf("the endpoints are %s", got)
	}
	ns.waitFor(t, "deployment/cache-discovery", "jsonpath={.status.readyReplicas}=2")

	// Each pod answers, and each hears of a change within seconds.
	pods := discoveryPods(t, ns)
	if len(pods) != 2 {
		t.Fatalf("pods: %q", pods)
	}
	ports := make([]string, 0, len(pods))
	for _, pod := range pods {
		ports = append(ports, portForward(t, ns.name, "pod/"+pod, "8080"))
	}
	expect := func(what string, version, size int) {
		t.Helper()
		begin := time.Now()
		for _, port := range ports {
			eventually(t, func() error {
				list, err := listFrom(port)
				if err != nil {
					return err
				}
				if list.Version > version {
					t.Fatalf("%s: version %d, want %d: more changes than there were", what, list.Version, version)
				}
				if list.Version != version {
					return fmt.Errorf("%s: version %d, want %d", what, list.Version, version)
				}
				if !slices.Equal(list.hosts(), stableHosts(ns, size)) {
					t.Fatalf("%s: hosts %q", what, list.hosts())
				}
				return nil
			})
		}
		took := time.Since(begin)
		t.Logf("%s: version %d with %d nodes, told after %v", what, version, size, took.Round(10*time.Millisecond))
		// The kubelet may leave a mounted ConfigMap as it is for a minute and a half.
		if took > 20*time.Second {
			t.Errorf("%s: told after %v", what, took)
		}
	}
	scale := func(size int) {
		t.Helper()
		ns.kubectl(t, "scale", "memcached/cache", fmt.Sprintf("--replicas=%d", size))
	}
	ready := func(size int) {
		t.Helper()
		ns.waitFor(t, "memcached/cache", fmt.Sprintf("jsonpath={.status.ready}=%[1]d/%[1]d", size))
	}
	expect("created", 1, 3)
	scale(5)
	ready(5)
	expect("scaled out", 2, 5)
	scale(2)
	expect("scaled in", 3, 2)
	ready(2)
	scale(5)
	ready(5)
	expect("scaled out again", 4, 5)

	// A node that is replaced is listed all the time.
	before, err := listFrom(ports[0])
	if err != nil {
		t.Fatal(err)
	}
	ns.kubectl(t, "delete", "pod", "cache-1", "--wait=false")
	eventually(t, func() error {
		list, err := listFrom(ports[0])
		if err != nil {
			return err
		}
		if !slices.Equal(list.hosts(), stableHosts(ns, 5)) {
			t.Fatalf("while a node is replaced the hosts are %q", list.hosts())
		}
		if list.Nodes[1].IP == before.Nodes[1].IP {
			return fmt.Errorf("cache-1 is still at %s", list.Nodes[1].IP)
		}
		return nil
	})
	ready(5)
	expect("a node was replaced", 5, 5)

	// The wire as clients read it, with both ends of lines.
	assertWire(t, ns, pods[0])
	assertThanos(t, ns, 5, stableHosts(ns, 5))

	// Companions are no nodes, and go when they are not wanted any more.
	if got := len(nodes(t, ns, "cache")); got != 5 {
		t.Errorf("%d nodes", got)
	}
	if got := len(endpoints(t, ns, "cache")); got != 5 {
		t.Errorf("%d addresses in the Service of the nodes", got)
	}
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"discovery":null}}`)
	eventually(t, func() error {
		if left := ns.kubectl(t, "get", "deployment,service,configmap,poddisruptionbudget", "-o", "name"); strings.Contains(left, "cache-") {
			return fmt.Errorf("left: %s", left)
		}
		return nil
	})
	ns.kubectl(t, "delete", "memcached", "cache")
	assertNothingLeft(t, ns)
}

// assertWire asks a pod of discovery as the simplest of clients would.
func assertWire(t *testing.T, ns namespace, pod string) {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+portForward(t, ns.name, "pod/"+pod, "11211"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "config get cluster\r\nconfig get cluster\nversion\r\nquit\r\n"); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.SplitAfter(string(said), "\r\nEND\r\n")
	if len(answers) != 3 || answers[0] != answers[1] || !strings.HasPrefix(answers[2], "VERSION ") {
		t.Fatalf("%q", said)
	}
	head, list, _ := strings.Cut(answers[0], "\r\n")
	list = strings.TrimSuffix(list, "\r\nEND\r\n")
	if want := fmt.Sprintf("CONFIG cluster 0 %d", len(list)); head != want {
		t.Errorf("%q, want %q", head, want)
	}
	t.Logf("%q", answers[0])
}

// thanosImage is built when the first test asks for it: it takes Thanos' sources.
var thanosImage = sync.OnceValues(func() (string, error) {
	const image = "quay.io/daein/thanosclient:latest"
	for _, args := range [][]string{
		{"env", "CGO_ENABLED=0", "go", "build", "-C", "test/peers", "-trimpath", "-ldflags=-s -w", "-o", "../../bin/images/", "./thanosclient"},
		{"bin/sandbox", "image", "build", "-tag", image, "-out", "bin/images/thanosclient.tar", "-entrypoint", "/thanosclient", "/thanosclient=bin/images/thanosclient"},
		{"hack/give-image.sh", "bin/images/thanosclient.tar", image},
	} {
		if _, err := command(args[0], args[1:]...); err != nil {
			return "", err
		}
	}
	return image, nil
})

// assertThanos finds the nodes with Thanos' own code, and makes a thousand round trips
// through them.
func assertThanos(t *testing.T, ns namespace, version int, hosts []string) {
	t.Helper()
	image, err := thanosImage()
	if err != nil {
		t.Fatal(err)
	}
	endpoint := ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoints.discovery}")
	name := fmt.Sprintf("thanos-%d", version)
	startProgram(t, ns, name, image, endpoint)
	var found struct {
		Version, Read int
		Addresses     []string
	}
	clientResult(t, ns, name, &found)
	ns.kubectl(t, "delete", "pod", name)
	t.Logf("Thanos: version %d, %d keys through %q", found.Version, found.Read, found.Addresses)
	if found.Version != version || found.Read != 1000 || !slices.Equal(found.Addresses, hosts) {
		t.Errorf("Thanos found %+v, want version %d, 1000 keys, hosts %q", found, version, hosts)
	}
}

// The nodes of a Deployment have no lasting names. They are told by address.
func TestMemcachedDiscoveryOfDeployment(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 3, discovery: {replicas: 1, port: 11222, httpPort: 80}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	hosts := func() []string {
		var all []string
		for line := range strings.Lines(ns.kubectl(t, "get", "pods", "-l", "app=memcached", "--sort-by=metadata.name", "-o",
			`jsonpath={range .items[?(@.status.phase=="Running")]}{.status.podIP}{"\n"}{end}`)) {
			all = append(all, strings.TrimSpace(line)+":11211")
		}
		return all
	}
	assertThanos(t, ns, 1, hosts())
	if left := ns.kubectl(t, "get", "poddisruptionbudget", "-o", "name"); left != "" {
		t.Errorf("one pod alone has %s, and can never be moved", left)
	}
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=1")
	eventually(t, func() error {
		if left := hosts(); len(left) != 1 {
			return fmt.Errorf("pods at %q", left)
		}
		return nil
	})
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=1/1")
	assertThanos(t, ns, 2, hosts())
}

// The list outlives the operator: its restart changes nothing, and while it is away the
// endpoint answers, also from pods that start meanwhile. It is not parallel to other
// tests because it takes the operator away.
func TestMemcachedDiscoveryWithoutOperator(t *testing.T) {
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: 1, workload: StatefulSet, discovery: {replicas: 2}, monitoring: {}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	ns.kubectl(t, "scale", "memcached/cache", "--replicas=2")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=2/2")
	ns.waitFor(t, "deployment/cache-discovery", "jsonpath={.status.readyReplicas}=2")
	ns.waitFor(t, "deployment/cache-metrics", "jsonpath={.status.readyReplicas}=1")
	ns.waitFor(t, "memcached/cache", "condition=Available")
	assertThanos(t, ns, 2, stableHosts(ns, 2))

	start := ns.mark(t)
	restartOperator(t, ns)
	ns.mark(t)
	assertNoWrites(t, "a restart with companions", readAudit(t, start).ofOperator(ns))

	o := operators[0]
	kubectl(t, "scale", "-n", o.namespace, "deployment/"+o.deployment, "--replicas=0")
	t.Cleanup(func() {
		kubectl(t, "scale", "-n", o.namespace, "deployment/"+o.deployment, "--replicas=1")
		kubectl(t, "rollout", "status", "-n", o.namespace, "deployment/"+o.deployment, "--timeout="+patience.String())
	})
	kubectl(t, "wait", "-n", o.namespace, "--for=delete", "pod", "-l", "control-plane=controller-manager", "--timeout="+patience.String())
	ns.kubectl(t, append([]string{"delete", "pod", "--wait=true"}, discoveryPods(t, ns)...)...)
	ns.waitFor(t, "deployment/cache-discovery", "jsonpath={.status.readyReplicas}=2")
	for _, pod := range discoveryPods(t, ns) {
		port := portForward(t, ns.name, "pod/"+pod, "8080")
		list, err := listFrom(port)
		if err != nil || list.Version != 2 || !slices.Equal(list.hosts(), stableHosts(ns, 2)) {
			t.Errorf("without an operator %s says %+v, %v", pod, list, err)
		}
	}
	assertThanos(t, ns, 2, stableHosts(ns, 2))

	ns.kubectl(t, "scale", "memcached/cache", "--replicas=3")
	kubectl(t, "scale", "-n", o.namespace, "deployment/"+o.deployment, "--replicas=1")
	ns.waitFor(t, "memcached/cache", "jsonpath={.status.ready}=3/3")
	assertThanosEventually(t, ns)
}

// assertThanosEventually waits until every pod tells of the third node, and asks Thanos.
func assertThanosEventually(t *testing.T, ns namespace) {
	t.Helper()
	for _, pod := range discoveryPods(t, ns) {
		port := portForward(t, ns.name, "pod/"+pod, "8080")
		eventually(t, func() error {
			list, err := listFrom(port)
			if err != nil {
				return err
			}
			if list.Version != 3 {
				return fmt.Errorf("%s has version %d", pod, list.Version)
			}
			return nil
		})
	}
	assertThanos(t, ns, 3, stableHosts(ns, 3))
}
