// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// noon is when the tests take place.
var noon = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// A volume is a ConfigMap volume as the kubelet writes it: files are links into ..data,
// which is a link to a directory with the files of one version.
type volume struct {
	t   *testing.T
	dir string
	log *logBuffer
}

func newVolume(t *testing.T) *volume {
	t.Helper()
	return &volume{t: t, dir: t.TempDir(), log: &logBuffer{}}
}

// put replaces all files, in the kubelet's order: the new version beside the old one,
// the link in one step, the old version away.
func (v *volume) put(version string, files map[string]string) {
	v.t.Helper()
	must := func(err error) {
		v.t.Helper()
		if err != nil {
			v.t.Fatal(err)
		}
	}
	old, _ := os.Readlink(filepath.Join(v.dir, dataLink))
	must(os.Mkdir(filepath.Join(v.dir, version), 0o755))
	for name, text := range files {
		must(os.WriteFile(filepath.Join(v.dir, version, name), []byte(text), 0o644))
	}
	temporary := filepath.Join(v.dir, "..data_tmp")
	must(os.Symlink(version, temporary))
	must(os.Rename(temporary, filepath.Join(v.dir, dataLink)))
	for name := range files {
		link := filepath.Join(v.dir, name)
		if _, err := os.Lstat(link); err != nil {
			must(os.Symlink(filepath.Join(dataLink, name), link))
		}
	}
	if old != "" {
		must(os.RemoveAll(filepath.Join(v.dir, old)))
	}
}

// putSettings is put with the settings alone.
func (v *volume) putSettings(version string, s *Settings) {
	v.t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		v.t.Fatal(err)
	}
	v.put(version, map[string]string{SettingsFile: string(data)})
}

func (v *volume) handler() *handler {
	return &handler{store: newStore(v.dir, slog.New(slog.NewTextHandler(v.log, nil))), now: func() time.Time { return noon }}
}

// logBuffer is a log that may be read while it is written.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// with is a handler with these settings.
func with(t *testing.T, s *Settings) *handler {
	t.Helper()
	v := newVolume(t)
	v.putSettings("..1", s)
	return v.handler()
}

// ask sends a request with pairs of header names and values.
func ask(t *testing.T, h http.Handler, method string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/some/path", http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
