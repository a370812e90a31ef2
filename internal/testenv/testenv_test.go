// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAssetsDirectory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := assetsDirectory(root, ""); err == nil || !strings.Contains(err.Error(), "type: make bin/k8s") {
		t.Errorf("without programs the error must say what to type, got: %v", err)
	}
	if _, err := assetsDirectory(root, filepath.Join(root, "elsewhere")); err == nil || !strings.Contains(err.Error(), AssetsVariable) {
		t.Errorf("with a wrong directory the error must name %s, got: %v", AssetsVariable, err)
	}

	assets := filepath.Join(root, "bin", "k8s")
	if err := os.MkdirAll(assets, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"etcd", "kube-apiserver"} {
		if _, err := assetsDirectory(root, ""); err == nil {
			t.Errorf("no error without %s", program)
		}
		if err := os.WriteFile(filepath.Join(assets, program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := assetsDirectory(root, ""); err != nil || found != assets {
		t.Errorf("found %q, %v; want %q", found, err, assets)
	}
}

func TestParseRefusesASecondObject(t *testing.T) {
	t.Parallel()
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	if _, err := Parse(object); err != nil {
		t.Error(err)
	}
	if _, err := Parse(object + "---\n" + object); err == nil {
		t.Error("accepted a manifest with two objects")
	}
}
