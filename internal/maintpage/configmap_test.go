// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/page"
)

// words is the user's ConfigMap.
func words(data map[string]string) func(*observed) {
	return func(seen *observed) {
		seen.source = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "words", UID: "words-uid", ResourceVersion: "5"}, Data: data}
	}
}

// copiedAs is the page's ConfigMap with this content, from the user's as it is.
func copiedAs(m *v1alpha1.MaintPage, data map[string]string) func(*observed) {
	return func(seen *observed) {
		from := seen.source
		words(data)(seen)
		intent := content(m, seen, demand{})
		seen.content = &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: pageName(m), OwnerReferences: ownedBy(m), Annotations: intent.Annotations},
			Data:       intent.Data,
		}
		seen.source = from
	}
}

func TestUsersContent(t *testing.T) {
	m := sample(showing)
	type data = map[string]string
	german := data{"index.html": "<p>x</p>", "index.de.html": "<p>y</p>"}
	stripped := words(nil) // as it is in the cache
	tests := []struct {
		name string
		m    *v1alpha1.MaintPage
		seen []func(*observed)
		want data   // beside the settings
		told string // or what is told instead
	}{
		{"built-in", sample(builtInPage), nil, data{}, ""},
		{"own HTML", sample(builtInPage, func(m *v1alpha1.MaintPage) { m.Spec.Page.HTML = "<p>z</p>" }), nil, data{"index.html": "<p>z</p>"}, ""},
		{"missing", m, nil, nil, "ConfigMap words, which page.configMapRef names, does not exist: create it"},
		{"key missing", m, []func(*observed){words(data{"page.html": "x"})}, nil, "ConfigMap words has no key index.html: add it"},
		{"read", m, []func(*observed){words(german)}, german, ""},
		{"another key", sample(showing, func(m *v1alpha1.MaintPage) { m.Spec.Page.ConfigMapRef.Key = "page" }), []func(*observed){
			words(data{"page": "x", "index.html": "old"}),
		}, data{"index.html": "x"}, ""},
		{"copied", m, []func(*observed){stripped, copiedAs(m, german)}, german, ""},
		{"copied, and changed since", m, []func(*observed){stripped, copiedAs(m, german), words(data{"index.html": "new"}), func(seen *observed) {
			seen.source.ResourceVersion = "6"
		}}, data{"index.html": "new"}, ""},
		{"copied, and gone since", m, []func(*observed){stripped, copiedAs(m, german), func(seen *observed) { seen.source = nil }}, nil, "does not exist"},
		{"other keys", m, []func(*observed){words(data{
			"index.html": "x", "index.pt-BR.html": "y", "INDEX.DE.HTML": "a", "index.d.html": "b", "secret.txt": "c", "index.de.html.bak": "d",
			"index..html": "e", "index.de..html": "f", "index.de_DE.html": "g", page.SettingsFile: "h",
		})}, data{"index.html": "x", "index.pt-BR.html": "y"}, ""},
		{"as large as can be", m, []func(*observed){words(data{"index.html": strings.Repeat("x", maxHTML)})}, data{"index.html": strings.Repeat("x", maxHTML)}, ""},
		{"too large", m, []func(*observed){words(data{"index.html": strings.Repeat("x", maxHTML-1), "index.de.html": "xx"})}, nil, "has 524289 bytes of pages, and at most 524288 can be served: make them smaller"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := world(test.m, test.seen...)
			intent := content(test.m, seen, demand{})
			if (intent == nil) != (test.told != "") {
				t.Fatalf("%+v", intent)
			}
			if intent == nil {
				if _, problem := html(test.m, seen); problem == nil || problem.reason != reasonContentMissing || !strings.Contains(problem.message, test.told) {
					t.Errorf("%+v, want %s", problem, test.told)
				}
				return
			}
			if !strings.HasPrefix(intent.Data[page.SettingsFile], "{") {
				t.Errorf("settings %q", intent.Data[page.SettingsFile])
			}
			delete(intent.Data, page.SettingsFile)
			if !maps.Equal(intent.Data, test.want) {
				t.Errorf("%q", slices.Sorted(maps.Keys(intent.Data)))
			}
		})
	}
}

// A copy that somebody has changed is made anew from the user's ConfigMap.
func TestChangedCopyIsNoCopy(t *testing.T) {
	m := sample(showing)
	original := map[string]string{"index.html": "x", "index.de.html": "y"}
	for name, change := range map[string]func(map[string]string){
		"nothing":      nil,
		"page":         func(data map[string]string) { data["index.html"] = "hand" },
		"page removed": func(data map[string]string) { delete(data, "index.html") },
		"translation":  func(data map[string]string) { data["index.de.html"] = "hand" },
		"added":        func(data map[string]string) { data["index.fr.html"] = "hand" },
	} {
		t.Run(name, func(t *testing.T) {
			seen := world(m, words(nil), copiedAs(m, original))
			if change != nil {
				change(seen.content.Data)
			}
			if got := copied(m, seen); got != (change == nil) {
				t.Errorf("copied: %v", got)
			}
		})
	}
	seen := world(m, words(nil), copiedAs(m, original))
	seen.content.OwnerReferences = nil
	if copied(m, seen) {
		t.Error("somebody else's ConfigMap")
	}
	seen = world(m, words(nil), copiedAs(m, original))
	seen.source.UID = "another"
	if copied(m, seen) {
		t.Error("a ConfigMap of the same name that was created anew")
	}
}

func TestLacksContent(t *testing.T) {
	m := sample(showing)
	there := map[string]string{"index.html": "x"}
	for _, test := range []struct {
		name string
		m    *v1alpha1.MaintPage
		seen []func(*observed)
		want bool
	}{
		{"user's image", sample(), nil, false},
		{"built-in words", sample(builtInPage), nil, false},
		{"nothing yet", m, nil, true},
		{"copied", m, []func(*observed){words(nil), copiedAs(m, there)}, false},
		{"the source is gone, the copy stays", m, []func(*observed){copiedAs(m, there)}, false},
		{"somebody else's", m, []func(*observed){copiedAs(m, there), func(seen *observed) { seen.content.OwnerReferences = nil }}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := lacksContent(test.m, world(test.m, test.seen...)); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// While the user's ConfigMap is missing, what was there stays.
func TestContentStays(t *testing.T) {
	m := sample(showing)
	seen := world(m, copiedAs(m, map[string]string{"index.html": "x"}))
	if p := decide(m, seen, demand{}, testImage); p.content.Writes() || p.content.Removes() {
		t.Error("the copy was touched")
	}
	m.Spec.MaintPageConfig.MaintPageImage, m.Spec.Page.ConfigMapRef = "page:1", nil
	if p := decide(m, seen, demand{}, testImage); !p.content.Removes() {
		t.Error("an image that brings its own page needs no ConfigMap")
	}
}

func TestContentHash(t *testing.T) {
	if contentHash(map[string]string{"a": "b", "c": "d"}) != contentHash(map[string]string{"c": "d", "a": "b"}) {
		t.Error("the order of a map decides")
	}
	if contentHash(map[string]string{"a": "bc"}) == contentHash(map[string]string{"ab": "c"}) {
		t.Error("the same hash")
	}
}
