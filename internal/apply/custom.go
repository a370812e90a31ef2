// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/ptr"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Kind is one that is not built into Kubernetes, and whose schema therefore is not
// known. What is needed of it is little, as long as an intent sets nothing in its spec
// but values, lists, which the API server owns as a whole unless the schema says
// otherwise, and the structs that are named here.
type Kind struct {
	schema.GroupVersionKind
	// Atomic are the fields of the spec that are structs and owned as a whole
	// (x-kubernetes-map-type: atomic), of those that an intent has. One that is missing
	// here costs an apply at every restart.
	Atomic []string
}

// Names of types in the schema of the kinds of Kubernetes.
var (
	typeMetadata = smdschema.TypeRef{NamedType: ptr.To("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")}
	typeDeduced  = smdschema.TypeRef{NamedType: ptr.To("__untyped_deduced_")}
	typeAtomic   = smdschema.TypeRef{NamedType: ptr.To("__untyped_atomic_")}
)

// Know teaches the writer a further kind. Call it before the first write.
func (w *Writer) Know(kind Kind) error {
	spec := &smdschema.Map{ElementType: typeDeduced}
	for _, name := range kind.Atomic {
		spec.Fields = append(spec.Fields, smdschema.StructField{Name: name, Type: typeAtomic})
	}
	object := smdschema.TypeDef{Name: kind.Kind, Atom: smdschema.Atom{Map: &smdschema.Map{
		Fields: []smdschema.StructField{
			{Name: "metadata", Type: typeMetadata},
			{Name: "spec", Type: smdschema.TypeRef{Inlined: smdschema.Atom{Map: spec}}},
		},
		ElementType: typeDeduced,
	}}}
	// Any object leads to the schema of all kinds of Kubernetes.
	some := &corev1.ConfigMap{}
	some.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	value, err := w.types.ObjectToTyped(some)
	if err != nil {
		return err
	}
	w.types = customTypes{w.types, kind.GroupVersionKind, typed.ParseableType{
		TypeRef: smdschema.TypeRef{NamedType: &object.Name},
		Schema:  &smdschema.Schema{Types: append(slices.Clone(value.Schema().Types), object)},
	}}
	return nil
}

// customTypes knows one kind more than another converter.
type customTypes struct {
	managedfields.TypeConverter
	kind schema.GroupVersionKind
	typed.ParseableType
}

func (t customTypes) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if object.GetObjectKind().GroupVersionKind() != t.kind {
		return t.TypeConverter.ObjectToTyped(object, options...)
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		return t.FromUnstructured(u.UnstructuredContent(), options...)
	}
	return t.FromStructured(object, options...)
}
