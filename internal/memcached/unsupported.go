// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package memcached

import (
	"github.com/example/web-operators/api/cache/v1alpha1"
	"github.com/example/web-operators/internal/unsupported"
)

// notYet is what this version does not do. Nodes that were asked to encrypt or to ask
// for a password must not run without.
var notYet = unsupported.Fields[v1alpha1.MemcachedSpec]{
	{Name: "tls", Blocks: true, Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.TLS != nil }},
	{Name: "auth", Blocks: true, Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.Auth != nil }},
	{Name: "discovery", Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.Discovery != nil }},
	{Name: "monitoring", Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.Monitoring != nil }},
	{Name: "warmup", Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.Warmup != nil }},
	{Name: "flush", Asked: func(s *v1alpha1.MemcachedSpec) bool { return s.Flush != nil }},
}
