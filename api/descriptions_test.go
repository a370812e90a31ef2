// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package api holds tests that look at the CRDs of all API groups.
package api

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// ofKubernetes are the fields whose types come from Kubernetes: what is below them is described there, in its style.
var ofKubernetes = []string{
	"affinity", "conditions", "from", "imagePullSecrets", "resources", "tolerations", "topologySpreadConstraints",
}

// TestEveryFieldIsDescribed keeps `kubectl explain` useful: every field has a description, and those of our own begin
// with the field's name.
func TestEveryFieldIsDescribed(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../config/crd/bases/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 2 {
		t.Fatalf("found %d CRDs, want 2: %v", len(paths), paths)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(content, &crd); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			for _, top := range []string{"spec", "status"} {
				checkProperty(t, crd.Spec.Names.Kind+"."+top, top, root.Properties[top], true)
			}
		}
	}
}

// checkProperty checks a property and everything below it. A property of our own must begin with its name.
func checkProperty(t *testing.T, path, name string, schema apiextensionsv1.JSONSchemaProps, own bool) {
	t.Helper()
	switch {
	case strings.TrimSpace(schema.Description) == "":
		t.Errorf("%s has no description", path)
	case own && !strings.HasPrefix(schema.Description, name+" "):
		t.Errorf("the description of %s does not begin with %q: %s", path, name+" ", schema.Description)
	}
	own = own && !slices.Contains(ofKubernetes, name)
	below := schema.Properties
	if schema.Items != nil && schema.Items.Schema != nil {
		below = schema.Items.Schema.Properties
	}
	for _, name := range slices.Sorted(maps.Keys(below)) {
		checkProperty(t, path+"."+name, name, below[name], own)
	}
}
