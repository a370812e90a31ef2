// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply is the only code that writes the children of a resource:
// Deployments, Services, Pods and whatever comes later.
//
// # What does it do that a plain server-side apply does not?
//
// It skips the call when the call would change nothing, refuses objects that
// belong to someone else, and deletes only what it has seen.
//
// # Why skip? A server-side apply that changes nothing writes nothing.
//
// It is still a request: it is authorized, admitted (every webhook runs), merged
// and audited. An operator that applies at every event costs the API server several
// such requests per resource and event, and all of them at once when it restarts.
//
// # How does it know that nothing would change?
//
// The API server writes down in metadata.managedFields which fields each manager
// owns. What our manager owns in the live object, with the values found there, is
// the intent that was applied last as far as nobody has touched it since. So:
//
//	owned fields and their values == fields of the intent and their values   skip
//	otherwise                                                               apply
//
// A field changed by hand, in whichever way, stops being ours: it is missing from
// the left side, and is put back. A field that the intent no longer has is still on
// the left side, and the apply removes it. Defaults of the API server, annotations
// of others and sidecars of a mesh were never ours and are on neither side. Nothing
// of it is remembered in the process, so a restart writes nothing either.
//
// # Why not compare the intent with the live object?
//
// That needs to know which items of two lists are the same, says nothing about
// fields that were removed from the intent, and so needs a hash of the last intent
// in an annotation beside it. Ownership answers both, and the API server keeps it.
//
// # What if the API server never stores what was asked?
//
// A webhook may rewrite an image, and an older API server drops a field that it does
// not know. Then both sides differ for good. An apply that came back with the
// resource version that the live object already had has changed nothing; that
// answer is remembered, and the same question is not asked again. It costs one
// request after a restart. Without it every reconcile would send one.
//
// The same happens to an intent that leaves out a default inside of a struct or list
// that is owned as a whole (x-kubernetes-map-type or list-type: atomic), such as
// fieldRef.apiVersion or the protocol of a NetworkPolicy's port: such defaults belong
// in the intent.
//
// # What if an apply cannot repair an edit?
//
// An apply removes only what is ours. If somebody has put a hostPath in the place of
// our emptyDir, both would be there afterwards, and the API server refuses that. Then,
// and only then, everything that others have set in the spec is made ours first, and
// the next apply removes it.
//
// # What if the cache has not seen our last write yet?
//
// The comparison would be with the past, and the same apply would be sent again. The
// client is therefore expected to read its own writes
// (client.CacheOptions.EnableReadYourWritesConsistency), which internal/operator sets.
//
// # How is an object of somebody else protected?
//
// Forced server-side apply takes every field it names from whoever had it, so it
// must never reach an object that is not ours. Ours is what our owner controls; an
// object without any controller is ours only if our manager has applied it before
// (its owner reference was removed by hand). The live object must therefore be all
// that is known: where the cache is filtered, nil may mean "exists and is foreign",
// and the caller has to look before. [StripForeign] is a filter that does not hide
// anything. An existing object is applied with its UID, so that one which was
// replaced since it was read is left alone.
//
// # What are its limits?
//
// If somebody wipes metadata.managedFields, one apply restores what the intent has.
// But from then on the API server holds every field that was there for set by others,
// too, and a field that later goes from the intent stays in the object.
// Items that others have added to a list stay as well, as server-side apply wants it.
package apply
