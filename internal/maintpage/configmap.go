// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package maintpage

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"regexp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/example/web-operators/api/maintpage/v1alpha1"
	"github.com/example/web-operators/internal/page"
)

// maxHTML is how much of a user's ConfigMap is copied. Another ConfigMap would refuse
// more than twice as much.
const maxHTML = 512 * 1024

// languageKey is that of a page in one language.
var languageKey = regexp.MustCompile(`^index\.[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*\.html$`)

// builtIn reports whether the page is that of package page.
func builtIn(m *v1alpha1.MaintPage) bool { return m.Spec.MaintPageConfig.MaintPageImage == "" }

// content is what the built-in page shows. It is nil where the user's image brings its
// own page, and while the user's ConfigMap is missing: then what was there stays.
func content(m *v1alpha1.MaintPage, seen *observed, d demand) *corev1ac.ConfigMapApplyConfiguration {
	if !builtIn(m) {
		return nil
	}
	pages, problem := html(m, seen)
	if problem != nil {
		return nil
	}
	data := maps.Clone(pages)
	data[page.SettingsFile] = settings(m, d)
	intent := corev1ac.ConfigMap(pageName(m), m.Namespace).
		WithLabels(childLabels(m, pageSide)).
		WithData(data)
	if m.Spec.Page.ConfigMapRef != nil {
		intent.WithAnnotations(map[string]string{annotationSource: version(m, seen.source, pages)})
	}
	return intent
}

// html is the user's own page, by file name, and what is wrong with it.
func html(m *v1alpha1.MaintPage, seen *observed) (map[string]string, *cause) {
	data := map[string]string{}
	reference := m.Spec.Page.ConfigMapRef
	switch {
	case m.Spec.Page.HTML != "":
		data[page.HTMLFile] = m.Spec.Page.HTML
		return data, nil
	case reference == nil:
		return data, nil
	case seen.source == nil:
		return nil, &cause{reasonContentMissing, fmt.Sprintf(
			"ConfigMap %s, which page.configMapRef names, does not exist: create it, or remove configMapRef", reference.Name)}
	}
	from, key := seen.source, reference.Key
	if copied(m, seen) {
		from, key = seen.content, page.HTMLFile
	}
	if _, ok := from.Data[key]; !ok {
		return nil, &cause{reasonContentMissing, fmt.Sprintf(
			"ConfigMap %s has no key %s: add it, or change page.configMapRef.key", reference.Name, reference.Key)}
	}
	data[page.HTMLFile] = from.Data[key]
	size := len(from.Data[key])
	for name, text := range from.Data {
		if languageKey.MatchString(name) {
			data[name] = text
			size += len(text)
		}
	}
	if size > maxHTML {
		return nil, &cause{reasonContentMissing, fmt.Sprintf(
			"ConfigMap %s has %d bytes of pages, and at most %d can be served: make them smaller", reference.Name, size, maxHTML)}
	}
	return data, nil
}

// version tells one state of the user's ConfigMap from another, one key from another,
// and a copy from one that somebody has changed.
func version(m *v1alpha1.MaintPage, source *corev1.ConfigMap, pages map[string]string) string {
	return fmt.Sprintf("%s/%s/%s/%s", source.UID, source.ResourceVersion, m.Spec.Page.ConfigMapRef.Key, contentHash(pages))
}

// copied reports whether the page shows the user's ConfigMap as it is now.
func copied(m *v1alpha1.MaintPage, seen *observed) bool {
	content := ours(m, seen.content)
	if content == nil || seen.source == nil {
		return false
	}
	pages := maps.Clone(content.Data)
	delete(pages, page.SettingsFile)
	return content.Annotations[annotationSource] == version(m, seen.source, pages)
}

// lacksContent reports whether the page has nothing of what the user wants to show.
func lacksContent(m *v1alpha1.MaintPage, seen *observed) bool {
	if !builtIn(m) || m.Spec.Page.ConfigMapRef == nil {
		return false
	}
	content := ours(m, seen.content)
	return content == nil || content.Data[page.HTMLFile] == ""
}

// settings are the words of the page. The coming window is among them, so that the page
// tells its end from the moment at which it opens.
func settings(m *v1alpha1.MaintPage, d demand) string {
	p := m.Spec.Page
	s := page.Settings{
		Title:             p.Title,
		Message:           p.Message,
		Contact:           p.Contact,
		RetryAfterSeconds: p.RetryAfterSeconds,
	}
	if p.ExpectedEnd != nil {
		s.ExpectedEnd = &p.ExpectedEnd.Time
	}
	for _, w := range []*v1alpha1.WindowOccurrence{d.active, d.next} {
		if w != nil {
			s.Windows = append(s.Windows, page.Window{Start: w.Start.UTC().Truncate(time.Second), End: w.End.UTC().Truncate(time.Second)})
		}
	}
	for _, t := range p.Translations {
		if s.Translations == nil {
			s.Translations = map[string]page.Translation{}
		}
		s.Translations[t.Language] = page.Translation{
			Title: t.Title, Message: t.Message, ExpectedEndLabel: t.ExpectedEndLabel, ContactLabel: t.ContactLabel,
			Watching: t.Watching, Returning: t.Returning, Reload: t.Reload, NotProcessed: t.NotProcessed,
		}
	}
	encoded, _ := json.MarshalIndent(s, "", "  ") // made of nothing but strings and numbers
	return string(encoded)
}

// contentHash tells contents apart.
func contentHash(data map[string]string) string {
	encoded, _ := json.Marshal(data) // sorted by key
	hash := fnv.New64a()
	_, _ = hash.Write(encoded)
	return strconv.FormatUint(hash.Sum64(), 36)
}
