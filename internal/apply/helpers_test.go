// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/yaml"
)

type watchInterface = watch.Interface

func toYAML(t *testing.T, obj any) string {
	t.Helper()
	data, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
