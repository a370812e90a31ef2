// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command memcached-operator runs Memcached resources.
package main

import (
	"github.com/example/web-operators/internal/memcached"
	"github.com/example/web-operators/internal/operator"
)

func main() {
	r := &memcached.Reconciler{}
	operator.Main(operator.Options{
		Name:        memcached.Name,
		AddToScheme: memcached.AddToScheme,
		Cache:       memcached.Cache(),
		BindFlags:   r.BindFlags,
		Setup:       r.SetupWithManager,
	})
}
