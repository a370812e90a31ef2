// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/example/web-operators/internal/agent"
	"github.com/example/web-operators/internal/credentials"
	"github.com/example/web-operators/internal/credentials/credentialstest"
)

const usersMessage = "memcached has the users"

// Only users of the Secret are let in. A new list of them takes effect without a
// restart: who is no more in it is refused, and the items stay. A client under load keeps
// its connections.
func TestMemcachedAuth(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, spec    string
		size          int
		first, second credentials.Files
		certificate   bool
	}{
		{
			name: "one", spec: "workload: Deployment", size: 2,
			first:  credentials.Files{"username": []byte("app"), "password": []byte("old!password")},
			second: credentials.Files{"username": []byte("app"), "password": []byte("new:password")},
		},
		{
			name: "several-with-tls", spec: "workload: StatefulSet, memory: 128Mi, tls: {secretName: certificate}", size: 3,
			first:       credentials.Files{"users": []byte("app:one\nadmin:two\n")},
			second:      credentials.Files{"users": []byte("app:three\nbatch:four\nadmin:five")},
			certificate: true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ns := newNamespace(t, restricted)
			var certificate credentials.Files
			if test.certificate {
				certificate = credentialstest.NewAuthority(t, "authority").Issue(t)
				ns.secret(t, "certificate", certificate)
			}
			ns.secret(t, "users", test.first)
			ns.apply(t, fmt.Sprintf(`
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: cache}
spec: {size: %d, auth: {secretName: users}, monitoring: {}, %s}`, test.size, test.spec))
			ns.waitFor(t, "memcached/cache", "condition=Available")

			before, after := access(t, certificate, test.first), access(t, certificate, test.second)
			store(t, ns, before)
			assertMeasured(t, ns)
			nobody := before
			nobody.Users = nil
			wrong := before
			wrong.Users = credentials.Users{{Name: before.Users[0].Name, Password: "wrong"}}
			for _, pod := range nodes(t, ns, "cache") {
				assertRefused(t, ns, pod, "nobody", nobody.Client(""))
				assertRefused(t, ns, pod, "a user with a wrong password", wrong.Client(""))
			}
			assertEach(t, ns, before, "is let in", true)
			assertEach(t, ns, after, "is let in before the rotation", false)

			rotate := func() {
				ns.secret(t, "users", test.second)
				eventuallyGivenUsers(t, ns)
				assertPrompt(t, ns, usersMessage, 2)
				assertEach(t, ns, before, "is let in after the rotation", false)
				assertEach(t, ns, after, "is let in", true)
			}
			if test.certificate {
				assertConnectionsStay(t, ns, rotate)
			} else {
				rotate()
			}
			assertKept(t, ns, after)
			assertMeasured(t, ns)

			// A list that cannot be used leaves the last one.
			ns.secret(t, "users", credentials.Files{"users": []byte("nobody")})
			eventuallyReports(t, ns, func(r agent.Report) bool { return strings.Contains(r.Auth.Error, "the last good one stays in use") })
			assertEach(t, ns, after, "is let in", true)
			assertKept(t, ns, after)
			assertAgentIsReplaced(t, ns)
			if found := readBack(t, ns, after); found != itemsPerNode*test.size {
				t.Errorf("%d items are left after an agent was replaced", found)
			}
		})
	}
}

// eventuallyGivenUsers waits until every node has its second users.
func eventuallyGivenUsers(t *testing.T, ns namespace) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		eventually(t, func() error {
			ns.hurry(t)
			if took := behind(t, ns, pod, usersMessage); len(took) != 2 {
				return fmt.Errorf("%s was given users %d times", pod, len(took))
			}
			return nil
		})
	}
}

// assertConnectionsStay has the users rotated under the load of a client. On connections
// that it has, all is served. A new one shows the password that its kubelet has brought,
// which the nodes may not have yet, or no more: that is told, and must end.
func assertConnectionsStay(t *testing.T, ns namespace, rotate func()) {
	t.Helper()
	c := underLoad(t, ns, rotatedItems, map[string]string{"tls": "certificate", "auth": "users"})
	before := c.pods(t)
	r := c.during(t, "password rotated", func() {
		rotate()
		ns.kubectl(t, "annotate", "pod", "client", "example.com/now=1") // see hurry
		eventuallyWelcome(t, c)
	})
	c.assertServed(t, r)
	t.Logf("new connections by node: %+v", readArrivals(t, c))
	c.assertItems(t)
	c.assertUntouched(t, before)
}

// assertAgentIsReplaced takes an agent away from its node, with an image that there is
// none of, and waits until the operator has put its own back. memcached runs on.
func assertAgentIsReplaced(t *testing.T, ns namespace) {
	t.Helper()
	pod := nodes(t, ns, "cache")[0]
	image := ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.spec.initContainers[0].image}")
	ns.kubectl(t, "set", "image", "pod/"+pod, "agent=example.com/missing:1")
	ns.waitFor(t, "pod/"+pod, "jsonpath={.spec.initContainers[0].image}="+image)
	ns.waitFor(t, "pod/"+pod, "jsonpath={.status.initContainerStatuses[0].started}=true")
	ns.waitFor(t, "pod/"+pod, "condition=Ready")
	ns.waitFor(t, "memcached/cache", "condition=Available")
	state := ns.kubectl(t, "get", "pod", pod, "-o", "jsonpath={.status.initContainerStatuses[0].restartCount} {.status.containerStatuses[0].restartCount}")
	t.Logf("restarts of the agent and of memcached: %s", state)
	if !strings.HasSuffix(state, " 0") {
		t.Errorf("memcached was restarted with its agent: %s", state)
	}
}

// assertEach tries every user on every node.
func assertEach(t *testing.T, ns namespace, all credentials.Access, what string, wanted bool) {
	t.Helper()
	for _, pod := range nodes(t, ns, "cache") {
		for _, u := range all.Users {
			one := credentials.Access{TLS: all.TLS, Users: credentials.Users{u}}
			withClient(t, ns, pod, one.Client(""), func(c *memcache.Client) {
				if _, err := c.Get("key-0"); (err == nil) != wanted {
					t.Errorf("%s: user %s %s: %v, %v", pod, u.Name, what, err == nil, err)
				}
			})
		}
	}
}
