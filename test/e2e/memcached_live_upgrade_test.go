// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A restart and an upgrade of the operator touch no node, and neither does another default
// image, which is told. It is not parallel to other tests because it changes the operator.
func TestMemcachedLiveUpgrade(t *testing.T) {
	const image, nextImage = "example.com/web-operators:next", "docker.io/library/memcached:1.6.99"
	c := newLiveCache(t, 3, "memory: 64Mi", clientLoad{items: 100_000, batches: 30})
	before := c.pods(t)
	restarted := c.during(t, "operator restarted", func() { restartOperator(t, c.ns) })
	c.assertServed(t, restarted)
	c.assertItems(t)
	c.assertUntouched(t, before)

	upgraded := c.during(t, "operator upgraded", func() {
		t.Cleanup(func() { deployMemcached(t, "MEMCACHED_IMAGE="+memcachedImage) })
		if _, err := command("make", "docker-push", "IMG="+image); err != nil {
			t.Fatal(err)
		}
		deployMemcached(t, "IMG="+image, "MEMCACHED_IMAGE="+nextImage)
		eventually(t, func() error {
			said := condition(t, c.ns, "Available", "message")
			if !strings.Contains(said, "until their next restart, when they get "+nextImage) {
				return fmt.Errorf("available says %q", said)
			}
			return nil
		})
	})
	if got := kubectl(t, "get", "pods", "-n", operators[0].namespace, leader(t, operators[0].namespace), "-o", "jsonpath={.spec.containers[0].image}"); got != image {
		t.Errorf("the operator that leads runs %s", got)
	}
	c.assertServed(t, upgraded)
	c.assertItems(t)
	c.assertUntouched(t, before)
	if got := condition(t, c.ns, "Available", "status"); got != "True" {
		t.Errorf("Available is %s", got)
	}
}

func deployMemcached(t *testing.T, variables ...string) {
	t.Helper()
	if _, err := command("make", append([]string{"deploy", "OPERATOR=memcached"}, variables...)...); err != nil {
		t.Fatal(err)
	}
}
