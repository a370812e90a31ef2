// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unsupported tells users what the API can ask for and this version of an
// operator does not do: a field that is accepted and then ignored is worse than one
// that is refused.
package unsupported

import "strings"

// Reason is that of the Degraded condition of a resource that asks for it.
const Reason = "Unsupported"

// Field is something that a spec of type S can ask for in vain.
type Field[S any] struct {
	Name string
	// Blocks means that without it objects would be written that the user has
	// excluded, such as nodes in plain text. Then nothing is written.
	Blocks bool
	Asked  func(*S) bool
}

// Fields are all of them.
type Fields[S any] []Field[S]

// Block reports whether the spec asks for something that must not be done otherwise.
func (f Fields[S]) Block(spec *S) bool {
	for _, field := range f {
		if field.Blocks && field.Asked(spec) {
			return true
		}
	}
	return false
}

// Message names what the spec asks for in vain. It is empty if there is nothing.
func (f Fields[S]) Message(spec *S) string {
	var names []string
	for _, field := range f {
		if field.Asked(spec) {
			names = append(names, "spec."+field.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	message := "This version of the operator does not support " + strings.Join(names, ", ")
	if f.Block(spec) {
		message += "; nothing is created or changed until it is removed"
	}
	return message
}
