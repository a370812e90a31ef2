// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestExplain(t *testing.T) {
	for field, words := range map[string][]string{
		"memcached":             {"KIND:       Memcached", "spec"},
		"memcached.spec.memory": {"how much memory each node has for items", "64Mi"},
		"memcached.spec.size":   {"number of"},
		"maintpage":             {"KIND:       MaintPage", "spec"},
		"maintpage.spec.page":   {"title", "message", "retryAfterSeconds", "configMapRef"},
	} {
		said := kubectl(t, "explain", field)
		for _, word := range words {
			if !strings.Contains(said, word) {
				t.Errorf("kubectl explain %s does not say %q:\n%s", field, word, said)
			}
		}
	}
}

func TestBadInputIsRefusedWithWhatToDo(t *testing.T) {
	ns := newNamespace(t, restricted)
	for _, c := range []struct {
		name, manifest, want string
	}{
		{"negative size", `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: bad}
spec: {size: -1}`, "spec.size in body should be greater than or equal to 0"},
		{"too little memory", `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: bad}
spec: {memory: 4Mi}`, "memory must be at least 8Mi"},
		{"argument with a field", `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: bad}
spec: {extraArgs: ["-m", "128"]}`, "set spec.memory"},
		{"application named like the resource", `
apiVersion: maintpage.example.com/v1alpha1
kind: MaintPage
metadata: {name: same}
spec:
  maintpageconfig: {maintpagetoggle: false, maintpageimage: page}
  appconfig: {appname: same, appimage: app}`, "appname must differ from metadata.name"},
	} {
		out, err := ns.tryApply(c.manifest)
		if err == nil {
			t.Errorf("%s is accepted", c.name)
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: the message does not say %q:\n%s", c.name, c.want, out)
		}
	}
}
