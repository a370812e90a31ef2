// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/language"
)

// dataLink is the link in a ConfigMap volume that leads to the directory with today's
// files. The kubelet replaces it in one step, so it tells all files' version.
const dataLink = "..data"

// maxFileSize is more than a ConfigMap can hold.
const maxFileSize = 2 << 20

// content is what the page says, ready to be served. It does not change.
type content struct {
	settings  Settings
	languages languages
	html      ownHTML
}

// defaultContent is served while there is nothing else.
func defaultContent() *content { return &content{languages: builtIn} }

// ownHTML are the user's pages.
type ownHTML struct {
	fallback []byte // index.html, nil without one
	tags     []language.Tag
	pages    [][]byte // by the index of tags
	matcher  language.Matcher
}

// choose finds the user's page for an Accept-Language header, nil when there is none.
// The tag is undetermined for index.html, whose language nobody told.
func (h *ownHTML) choose(accept string) (language.Tag, []byte) {
	if h.matcher != nil {
		if i := match(h.matcher, accept, -1); i >= 0 {
			return h.tags[i], h.pages[i]
		}
	}
	return language.Und, h.fallback
}

// A store keeps the content of a directory. It looks for a change when it is asked,
// which costs one readlink, so it needs no watch and is never late.
type store struct {
	dir string
	log *slog.Logger

	mu       sync.Mutex
	loaded   bool
	version  string // of the files that were read last, whether good or broken
	content  *content
	lastWarn string
}

func newStore(dir string, log *slog.Logger) *store {
	return &store{dir: dir, log: log, content: defaultContent()}
}

// get is the content now. New content that is broken leaves the last good one in place.
func (s *store) get() *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := s.versionNow()
	if s.loaded && version == s.version {
		return s.content
	}
	// The version's own directory rather than the link, so that all files are of one version.
	next, err := s.read(filepath.Join(s.dir, version))
	// The kubelet removes a version after it has replaced the link: files may have been
	// missing if the link leads elsewhere by now. The next request reads the new ones.
	if s.versionNow() != version {
		return s.content
	}
	var broken *brokenError
	switch {
	case err == nil:
		s.content, s.lastWarn = next, ""
		s.log.Info("content read", "version", version, "translations", len(next.settings.Translations), "ownPages", next.html.count())
	case errors.As(err, &broken):
		s.warn(err)
	default:
		s.warn(err)
		return s.content // it may be readable the next time
	}
	s.loaded, s.version = true, version
	return s.content
}

// versionNow is where the link leads, and empty in a plain directory or without one.
func (s *store) versionNow() string {
	version, err := os.Readlink(filepath.Join(s.dir, dataLink))
	if err != nil {
		return ""
	}
	return version
}

// warn logs an error once and not at every request.
func (s *store) warn(err error) {
	if err.Error() != s.lastWarn {
		s.lastWarn = err.Error()
		s.log.Error("content cannot be used, the last good one stays: correct it in the MaintPage or its ConfigMap", "error", err)
	}
}

// A brokenError is content that stays unusable until it is changed.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// read reads a directory.
func (s *store) read(dir string) (*content, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c := &content{}
	for _, entry := range entries {
		name := entry.Name()
		tag, isPage := strings.CutPrefix(name, "index.")
		isPage = isPage && strings.HasSuffix(name, ".html")
		if name != SettingsFile && !isPage {
			continue
		}
		data, err := readFile(filepath.Join(dir, name))
		switch {
		case err != nil:
			return nil, err
		case isPage:
			s.addHTML(&c.html, name, strings.TrimSuffix(tag, ".html"), data)
		default:
			if err := json.Unmarshal(data, &c.settings); err != nil {
				return nil, &brokenError{fmt.Errorf("%s: %w", SettingsFile, err)}
			}
		}
	}
	c.settings.Contact = clean(c.settings.Contact)
	c.languages = builtIn.with(&c.settings, s.translations(&c.settings))
	if len(c.html.tags) > 0 {
		c.html.matcher = language.NewMatcher(c.html.tags)
	}
	return c, nil
}

func (s *store) translations(settings *Settings) map[language.Tag]Translation {
	own := map[language.Tag]Translation{}
	// Sorted, so that of two spellings of one language always the same wins.
	for _, name := range slices.Sorted(maps.Keys(settings.Translations)) {
		tag, err := language.Parse(name)
		if err != nil || tag == language.Und {
			s.log.Warn("translation left out: its name is no language tag such as ja or pt-BR", "name", name)
			continue
		}
		own[tag] = settings.Translations[name]
	}
	return own
}

func (s *store) addHTML(h *ownHTML, name, languageName string, data []byte) {
	if name == HTMLFile {
		h.fallback = data
		return
	}
	tag, err := language.Parse(languageName)
	if err != nil || tag == language.Und {
		s.log.Warn("page left out: its name has no language tag as in index.ja.html", "name", name)
		return
	}
	h.tags, h.pages = append(h.tags, tag), append(h.pages, data)
}

func (h *ownHTML) count() int {
	if h.fallback != nil {
		return len(h.pages) + 1
	}
	return len(h.pages)
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err == nil && len(data) > maxFileSize {
		err = &brokenError{fmt.Errorf("%s is larger than %d bytes", filepath.Base(path), maxFileSize)}
	}
	return data, err
}
