// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/example/web-operators/internal/agent"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/node"
)

const (
	// itemsPerNode is stored on each node before something is rotated, beside what a
	// client under load stores.
	itemsPerNode = 500
	// rotatedItems are on the nodes under load while something is rotated.
	rotatedItems = 100_000
	// rotationLimit is how long a node may take from the moment at which the kubelet
	// has brought a Secret.
	rotationLimit = 15 * time.Second
)

// secret creates or replaces a Secret.
func (n namespace) secret(t *testing.T, name string, files credentials.Files) {
	t.Helper()
	data := map[string]string{}
	for key, content := range files {
		data[key] = base64.StdEncoding.EncodeToString(content)
	}
	encoded, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	manifest := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": %q}, "data": %s}`, name, encoded)
	n.apply(t, manifest)
}

// hurry makes the kubelets look at the Secrets of the nodes now: a change of a pod is
// what they look at first. Otherwise they do within a minute and a half.
func (n namespace) hurry(t *testing.T) {
	t.Helper()
	n.kubectl(t, "annotate", "--overwrite", "pods", "-l", "memcached_cr=cache", fmt.Sprintf("example.com/now=%d", time.Now().UnixNano()))
}

// withClient connects to one node, as an application does that knows how.
func withClient(t *testing.T, ns namespace, pod string, how *node.Client, use func(*memcache.Client)) {
	t.Helper()
	port, end := startForward(t, ns.name, "pod/"+pod, "11211")
	defer end()
	c := memcache.New("127.0.0.1:" + port)
	defer c.Close()
	c.Timeout = 10 * time.Second
	c.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if how.TLS != nil {
			conn = tls.Client(conn, how.TLS)
		}
		if how.User != "" {
			if err := authenticate(conn, how); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		return conn, nil
	}
	use(c)
}

// authenticate is what every client of a node with users has to say first.
func authenticate(conn net.Conn, to *node.Client) error {
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	credentials := to.User + " " + to.Password
	if _, err := fmt.Fprintf(conn, "set auth 0 0 %d\r\n%s\r\n", len(credentials), credentials); err != nil {
		return err
	}
	answer := make([]byte, 100)
	length, err := conn.Read(answer)
	if err != nil {
		return err
	}
	if got := strings.TrimSpace(string(answer[:length])); got != "STORED" {
		return errors.New(got)
	}
	return nil
}

// store puts items on every node, and readBack tells how many of all are there.
func store(t *testing.T, ns namespace, access credentials.Access) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		withClient(t, ns, pod, access.Client(""), func(c *memcache.Client) {
			for i := range itemsPerNode {
				if err := c.Set(&memcache.Item{Key: fmt.Sprintf("key-%d", i), Value: fmt.Appendf(nil, "%s-%d", pod, i)}); err != nil {
					t.Fatalf("storing on %s: %v", pod, err)
				}
			}
		})
	}
}

func readBack(t *testing.T, ns namespace, access credentials.Access) (found int) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		withClient(t, ns, pod, access.Client(""), func(c *memcache.Client) {
			for i := range itemsPerNode {
				item, err := c.Get(fmt.Sprintf("key-%d", i))
				switch {
				case errors.Is(err, memcache.ErrCacheMiss):
				case err != nil:
					t.Fatalf("reading from %s: %v", pod, err)
				case string(item.Value) == fmt.Sprintf("%s-%d", pod, i):
					found++
				}
			}
		})
	}
	return found
}

// assertKept checks that all items are there and no container was restarted.
func assertKept(t *testing.T, ns namespace, access credentials.Access) {
	t.Helper()
	all := itemsPerNode * len(nodes(t, ns, "cache"))
	found := readBack(t, ns, access)
	restarts := ns.kubectl(t, "get", "pods", "-l", "app=memcached", "-o",
		"jsonpath={.items[*].status.containerStatuses[*].restartCount} {.items[*].status.initContainerStatuses[*].restartCount}")
	t.Logf("%d of %d items kept, restarts: %s", found, all, restarts)
	if found != all {
		t.Errorf("%d of %d items kept", found, all)
	}
	if strings.Trim(restarts, "0 ") != "" {
		t.Errorf("containers were restarted: %s", restarts)
	}
}

// assertRefused checks that a node lets nobody in who tries it this way.
func assertRefused(t *testing.T, ns namespace, pod, who string, how *node.Client) {
	t.Helper()
	withClient(t, ns, pod, how, func(c *memcache.Client) {
		item, err := c.Get("key-0")
		if err == nil || errors.Is(err, memcache.ErrCacheMiss) {
			t.Errorf("%s: %s got an answer: %v, %v", pod, who, item, err)
			return
		}
		t.Logf("%s: %s is refused: %v", pod, who, err)
	})
}

// underLoad fills the nodes with items and returns them under the load of a client, which
// finds Secrets of the namespace in the directories "tls" and "auth".
func underLoad(t *testing.T, ns namespace, items int, secrets map[string]string) *liveCache {
	t.Helper()
	var mounts, volumes []string
	for directory, secret := range secrets {
		mounts = append(mounts, fmt.Sprintf("{name: %s, mountPath: /secrets/%[1]s, readOnly: true}", directory))
		volumes = append(volumes, fmt.Sprintf("{name: %s, secret: {secretName: %s}}", directory, secret))
	}
	addresses := strings.Fields(ns.kubectl(t, "get", "memcached", "cache", "-o", "jsonpath={.status.endpoints.nodes[*]}"))
	if len(addresses) == 0 {
		t.Fatal("there are no nodes to load")
	}
	ns.apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: quay.io/daein/cacheclient:latest
    args: [load, %q, "%d", "30", "%d", "0"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [%s]
  volumes: [%s]`, strings.Join(addresses, ","), items, loadSeconds, strings.Join(mounts, ", "), strings.Join(volumes, ", ")))
	eventually(t, func() error {
		// It listens when the nodes are full.
		if _, err := command("bin/kubectl", "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/client:9090/proxy/report", ns.name)); err != nil {
			logs, _ := command("bin/kubectl", "--namespace", ns.name, "logs", "client")
			return fmt.Errorf("%w\n%s", err, logs)
		}
		return nil
	})
	c := &liveCache{ns: ns, items: items}
	c.waitUp(t)
	c.assertItems(t)
	eventuallyWelcome(t, c)
	return c
}

// arrivals are the new connections of the client to a node since the last reset.
type arrivals struct {
	Accepted, Rejected int
	First, Last        string // why the first was rejected, and the last, if it was
}

func readArrivals(t *testing.T, c *liveCache) []arrivals {
	t.Helper()
	var r struct{ Arrivals []arrivals }
	if said := c.ns.get(t, "client", "report"); json.Unmarshal([]byte(said), &r) != nil || len(r.Arrivals) == 0 {
		t.Fatalf("the client said %q", said)
	}
	return r.Arrivals
}

// eventuallyWelcome waits until every node lets the client in with the Secrets that it has.
func eventuallyWelcome(t *testing.T, c *liveCache) {
	t.Helper()
	eventually(t, func() error {
		for node, a := range readArrivals(t, c) {
			if a.Accepted == 0 || a.Last != "" {
				return fmt.Errorf("new connections to node %d: %+v", node, a)
			}
		}
		return nil
	})
}

// eventuallyReports waits until the agents of all nodes say what they should.
func eventuallyReports(t *testing.T, ns namespace, check func(agent.Report) bool) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		port, end := startForward(t, ns.name, "pod/"+pod, "11210")
		eventually(t, func() error {
			ns.hurry(t)
			said := get(t, "http://127.0.0.1:"+port+"/status")
			var report agent.Report
			if err := json.Unmarshal([]byte(said), &report); err != nil {
				return fmt.Errorf("%w: %s", err, said)
			}
			if !check(report) {
				return fmt.Errorf("the agent of %s says %s", pod, said)
			}
			return nil
		})
		end()
	}
}

// behind are the times, one for each rotation, that the agent of a node took to bring
// something to memcached, from when the kubelet had it.
func behind(t *testing.T, ns namespace, pod, message string) []time.Duration {
	t.Helper()
	var all []time.Duration
	for line := range strings.Lines(ns.kubectl(t, "logs", pod, "-c", "agent")) {
		var entry struct {
			Msg           string
			BehindSeconds float64
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if entry.Msg == message {
			all = append(all, time.Duration(entry.BehindSeconds*float64(time.Second)))
		}
	}
	return all
}

// assertPrompt checks that the last rotation was in time, on every node.
func assertPrompt(t *testing.T, ns namespace, message string, rotations int) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		took := behind(t, ns, pod, message)
		t.Logf("%s: %s: %v", pod, message, took)
		if len(took) != rotations {
			t.Errorf("%s: %d times %q, want %d", pod, len(took), message, rotations)
		} else if last := took[len(took)-1]; last > rotationLimit {
			t.Errorf("%s: %s took %v", pod, message, last)
		}
	}
}

// assertMeasured checks that the metrics companion is let in by all nodes.
func assertMeasured(t *testing.T, ns namespace) {
	t.Helper()
	port, end := startForward(t, ns.name, "deployment/cache-metrics", "9150")
	defer end()
	eventually(t, func() error {
		ns.hurry(t)
		said := get(t, "http://127.0.0.1:"+port+"/metrics")
		for _, pod := range nodes(t, ns, "cache") {
			if !strings.Contains(said, fmt.Sprintf("memcached_up{node=%q} 1\n", pod)) {
				return fmt.Errorf("%s is not up in the metrics", pod)
			}
		}
		return nil
	})
}
