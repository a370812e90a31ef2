// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package golden compares what a test has made with a file that people have reviewed.
package golden

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// YAML compares the object, as YAML, with testdata/<name>.yaml.
func YAML(t *testing.T, name string, object any) {
	t.Helper()
	got, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	File(t, name+".yaml", got)
}

// File compares the bytes with testdata/<name>.
func File(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run the test with -update to write it", err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s has changed; if it is meant to, run the test with -update.\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
