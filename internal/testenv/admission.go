// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Admit asks the API server whether it would create the object of a YAML manifest, in the namespace default, without
// creating it. It returns the object as the server would store it, with defaults.
func (e *Environment) Admit(ctx context.Context, manifest string) (*unstructured.Unstructured, error) {
	object, err := Parse(manifest)
	if err != nil {
		return nil, err
	}
	if err := e.Client.Create(ctx, object, client.DryRunAll); err != nil {
		return nil, err
	}
	return object, nil
}

// Parse reads the one object of a YAML manifest, and puts it in the namespace default.
func Parse(manifest string) (*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifest), 4096)
	object := &unstructured.Unstructured{}
	if err := decoder.Decode(object); err != nil {
		return nil, fmt.Errorf("parse manifest: %w", err)
	}
	// A second object would go untested.
	if err := decoder.Decode(&unstructured.Unstructured{}); !errors.Is(err, io.EOF) {
		return nil, errors.New("parse manifest: more than one object")
	}
	object.SetNamespace("default")
	return object, nil
}
