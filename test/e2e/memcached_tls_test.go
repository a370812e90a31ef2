// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/example/web-operators/internal/agent"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
	"github.com/example/web-operators/internal/node"
)

const servesMessage = "memcached serves the certificate"

// Nothing runs without the Secret. With it the nodes speak TLS and nothing else, and a
// new certificate of another authority is served without a restart: a client under load
// that trusts both of them loses neither a connection nor an item.
func TestMemcachedTLS(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec:
  workload: StatefulSet
  size: 3
  memory: 128Mi
  tls: {secretName: certificate}
  monitoring: {}`)
	ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=SecretMissing`)
	if message := condition(t, ns, "Degraded", "message"); !strings.Contains(message, "There is no Secret certificate") {
		t.Errorf("the message is %q", message)
	}
	assertNone(t, ns, "deployment,statefulset,service,pod")

	// cert-manager and kubectl make Secrets without an authority, too.
	first, second := credentialstest.NewAuthority(t, "first").Issue(t), credentialstest.NewAuthority(t, "second").Issue(t)
	ns.secret(t, "certificate", credentials.Files{
		credentials.CertificateKey: first[credentials.CertificateKey], credentials.PrivateKeyKey: first[credentials.PrivateKeyKey],
	})
	ns.waitFor(t, "memcached/cache", "condition=Available")
	old := access(t, first, nil)
	store(t, ns, old)
	assertMeasured(t, ns)
	for _, pod := range nodes(t, ns, "cache") {
		assertRefused(t, ns, pod, "a client in plain text", &node.Client{})
	}
	ns.secret(t, "client", trusting(first, second))
	c := underLoad(t, ns, rotatedItems, map[string]string{"tls": "client"})
	before := c.pods(t)
	start := ns.mark(t)

	rotated := access(t, second, nil)
	for node, a := range rotateUnderLoad(t, c, second) {
		if a.Accepted == 0 || a.Rejected > 0 {
			t.Errorf("new connections to node %d: %+v", node, a)
		}
	}
	c.assertUntouched(t, before)
	assertKept(t, ns, rotated)
	assertMeasured(t, ns)
	for _, pod := range nodes(t, ns, "cache") {
		assertRefused(t, ns, pod, "a client that trusts the old authority", old.Client(""))
	}
	ns.mark(t)
	if writes := readAudit(t, start).ofOperator(ns); len(writes) > 0 {
		t.Errorf("the rotation cost writes: %v", writes)
	}
}

// With mutual TLS nobody without a certificate is answered, on any port of a node.
func TestMemcachedMutualTLS(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, restricted)
	authority := credentialstest.NewAuthority(t, "first")
	first := authority.Issue(t)
	ns.secret(t, "certificate", first)
	ns.apply(t, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec:
  size: 2
  workload: StatefulSet
  tls: {secretName: certificate, clientAuth: Require}
  monitoring: {}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	for i, pod := range nodes(t, ns, "cache") {
		ip := ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.podIP}")
		startClient(t, ns, fmt.Sprintf("scan-%d", i), "scan", ip, "65535")
	}
	client := access(t, authority.Issue(t), nil) // of its own, of the same authority
	store(t, ns, client)
	second := credentialstest.NewAuthority(t, "second").Issue(t)
	ns.secret(t, "client", trusting(authority.Issue(t), second))
	c := underLoad(t, ns, 9000, map[string]string{"tls": "client"})
	assertMeasured(t, ns)

	stranger := insistent(access(t, credentialstest.NewAuthority(t, "stranger").Issue(t), nil))
	anonymous := insistent(client)
	anonymous.TLS.GetClientCertificate = nil
	anonymous.TLS.Certificates = nil
	for _, pod := range nodes(t, ns, "cache") {
		assertRefused(t, ns, pod, "a client of another authority", stranger)
		assertRefused(t, ns, pod, "a client without a certificate", anonymous)
		assertRefused(t, ns, pod, "a client in plain text", &node.Client{})
	}
	for i, pod := range nodes(t, ns, "cache") {
		var open []struct {
			Port       int
			Plain, TLS string
		}
		clientResult(t, ns, fmt.Sprintf("scan-%d", i), &open)
		t.Logf("%s: %+v", pod, open)
		if len(open) != 1 || open[0].Port != 11211 {
			t.Errorf("open ports of %s: %+v", pod, open)
		}
		for _, port := range open {
			if !strings.HasPrefix(port.Plain, "error: ") || !strings.HasPrefix(port.TLS, "error: ") {
				t.Errorf("%s answers a stranger: %+v", pod, port)
			}
		}
	}

	// Another authority: the nodes do not know the new certificate until they have it. Then
	// they ask for certificates of the new one by name, and a client that has none of it
	// shows none. It keeps its connections, and needs a certificate for the next one.
	rotated := access(t, second, nil)
	rotateUnderLoad(t, c, second)
	ns.secret(t, "client", trusting(second, first))
	ns.kubectl(t, "annotate", "pod", "client", "example.com/now=1") // see hurry
	eventuallyWelcome(t, c)
	assertKept(t, ns, rotated)
	assertMeasured(t, ns)
	withClient(t, ns, nodes(t, ns, "cache")[0], insistent(client), func(c *memcache.Client) {
		_, err := c.Get("key-0")
		t.Logf("a client of the former authority, which memcached does not forget until it is restarted: %v", err)
	})

	// The operator itself is let in, too.
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"memory":"80Mi"}}`)
	ns.waitFor(t, "memcached/cache", "condition=Available")
	ns.waitFor(t, "pod/cache-0", `jsonpath={.metadata.annotations.cache\.example\.com/memory}=80`)
	assertKept(t, ns, rotated)

	// A Secret that is broken changes nothing, and the agents say so.
	broken := credentials.Files{
		credentials.CertificateKey: first[credentials.CertificateKey],
		credentials.PrivateKeyKey:  second[credentials.PrivateKeyKey],
		credentials.AuthorityKey:   second[credentials.AuthorityKey],
	}
	ns.secret(t, "certificate", broken)
	eventuallyReports(t, ns, func(r agent.Report) bool {
		return strings.Contains(r.TLS.Error, "the last good one stays in use: key tls.key is not") && r.TLS.Serial == serial(rotated.TLS)
	})
	assertKept(t, ns, rotated)
	ns.kubectl(t, "patch", "memcached", "cache", "--type=merge", "-p", `{"spec":{"threads":2}}`)
	ns.waitFor(t, "memcached/cache", `jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=SecretInvalid`)
	assertKept(t, ns, rotated)
}

// trusting are the files of a client with a certificate of one authority, which trusts
// another one, too: what it takes for a change of the authority that nobody notices.
func trusting(own, other credentials.Files) credentials.Files {
	all := maps.Clone(own)
	all[credentials.AuthorityKey] = slices.Concat(own[credentials.AuthorityKey], other[credentials.AuthorityKey])
	return all
}

// rotateUnderLoad gives the nodes their second certificate. No request fails and no item
// is lost. It returns what became of new connections meanwhile.
func rotateUnderLoad(t *testing.T, c *liveCache, certificate credentials.Files) []arrivals {
	t.Helper()
	r := c.during(t, "certificate rotated", func() {
		c.ns.secret(t, "certificate", certificate)
		eventuallyServed(t, c.ns, access(t, certificate, nil).TLS)
		assertPrompt(t, c.ns, servesMessage, 2)
	})
	c.assertServed(t, r)
	all := readArrivals(t, c)
	t.Logf("new connections by node: %+v", all)
	c.assertItems(t)
	return all
}

// insistent is a client that trusts every node, and shows its certificate to all of
// them, so that it is the node that refuses.
func insistent(a credentials.Access) *node.Client {
	c := a.Client("")
	c.TLS.VerifyConnection = nil
	c.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &c.TLS.Certificates[0], nil
	}
	return c
}

// access is that of a client with what a Secret has.
func access(t *testing.T, certificate, users credentials.Files) credentials.Access {
	t.Helper()
	var a credentials.Access
	var err error
	if certificate != nil {
		if a.TLS, err = credentials.ParseTLS(certificate, true); err != nil {
			t.Fatal(err)
		}
	}
	if users != nil {
		if a.Users, err = credentials.ParseUsers(users); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func serial(certificate *credentials.TLS) string {
	return fmt.Sprintf("%x", certificate.Leaf.SerialNumber)
}

// eventuallyServed waits until every agent has seen its node serve the certificate.
func eventuallyServed(t *testing.T, ns namespace, certificate *credentials.TLS) {
	t.Helper()
	eventuallyReports(t, ns, func(r agent.Report) bool { return r.TLS.Serial == serial(certificate) && r.TLS.Error == "" })
}
