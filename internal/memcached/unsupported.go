// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"strings"

	"github.com/example/web-operators/api/cache/v1alpha1"
)

// unsupported lists what the API can ask for and this version does not do. Asking
// for it is told in the condition Degraded; it is never silently ignored.
//
// Without some of it nodes would run in a way that the user has excluded: in plain
// text, open to everyone. Those block the resource.
var unsupported = []struct {
	field  string
	blocks bool
	asked  func(*v1alpha1.MemcachedSpec) bool
}{
	{"tls", true, func(s *v1alpha1.MemcachedSpec) bool { return s.TLS != nil }},
	{"auth", true, func(s *v1alpha1.MemcachedSpec) bool { return s.Auth != nil }},
	{"discovery", false, func(s *v1alpha1.MemcachedSpec) bool { return s.Discovery != nil }},
	{"monitoring", false, func(s *v1alpha1.MemcachedSpec) bool { return s.Monitoring != nil }},
	{"warmup", false, func(s *v1alpha1.MemcachedSpec) bool { return s.Warmup != nil }},
	{"flush", false, func(s *v1alpha1.MemcachedSpec) bool { return s.Flush != nil }},
}

// blocked reports whether the resource asks for something that nodes must not run without.
func blocked(m *v1alpha1.Memcached) bool {
	for _, u := range unsupported {
		if u.blocks && u.asked(&m.Spec) {
			return true
		}
	}
	return false
}

// unsupportedMessage names what the resource asks for in vain. It is empty if there
// is nothing.
func unsupportedMessage(m *v1alpha1.Memcached) string {
	var fields []string
	for _, u := range unsupported {
		if u.asked(&m.Spec) {
			fields = append(fields, "spec."+u.field)
		}
	}
	if len(fields) == 0 {
		return ""
	}
	message := "This version of the operator does not support " + strings.Join(fields, ", ")
	if blocked(m) {
		message += "; nothing is created or changed until it is removed"
	}
	return message
}
