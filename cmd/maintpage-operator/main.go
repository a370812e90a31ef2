// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Command maintpage-operator runs MaintPage resources.
package main

import (
	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/maintpage"
	"github.com/example/web-operators/internal/operator"
)

func main() {
	r := &maintpage.Reconciler{}
	operator.Main(operator.Options{
		Name:        maintpage.Name,
		AddToScheme: v1alpha1.AddToScheme,
		Cache:       maintpage.Cache(),
		BindFlags:   r.BindFlags,
		Setup:       r.SetupWithManager,
	})
}
