// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestNewContentIsServedAtOnce(t *testing.T) {
	v := newVolume(t)
	h := v.handler()
	says := func(words string) {
		t.Helper()
		if body := ask(t, h, "GET").Body.String(); !strings.Contains(body, words) {
			t.Errorf("not %q but\n%s", words, body)
		}
	}
	says("We’ll be back soon")
	v.putSettings("..1", &Settings{Title: "one"})
	says("one")
	v.putSettings("..2", &Settings{Title: "two"})
	says("two")
	v.put("..3", nil)
	says("We’ll be back soon")
}

func TestBrokenContentKeepsTheLastGoodOne(t *testing.T) {
	v := newVolume(t)
	h := v.handler()
	v.put("..1", map[string]string{SettingsFile: `{"title": "good"}`, HTMLFile: "good page"})
	ask(t, h, "GET")
	v.put("..2", map[string]string{SettingsFile: `{"title": "bad`, HTMLFile: "page that came with the bad one"})
	for range 3 {
		if body := ask(t, h, "GET").Body.String(); !strings.Contains(body, "good") {
			t.Errorf("the good content is gone:\n%s", body)
		}
		if body := ask(t, h, "GET", "Accept", browser).Body.String(); body != "good page" {
			t.Errorf("half of the bad content is served: %s", body)
		}
	}
	if logged := strings.Count(v.log.String(), "content cannot be used"); logged != 1 {
		t.Errorf("logged %d times, not once:\n%s", logged, v.log)
	}
	v.putSettings("..3", &Settings{Title: "better"})
	if body := ask(t, h, "GET").Body.String(); !strings.Contains(body, "better") {
		t.Errorf("what came after the broken content is not served:\n%s", body)
	}
	v.put("..4", map[string]string{SettingsFile: strings.Repeat(" ", maxFileSize) + "{}"})
	if body := ask(t, h, "GET").Body.String(); !strings.Contains(body, "better") {
		t.Errorf("a file that is too large is served:\n%s", body)
	}
}

func TestWithoutContent(t *testing.T) {
	for name, dir := range map[string]string{"no directory": filepath.Join(t.TempDir(), "none"), "empty": t.TempDir()} {
		v := newVolume(t)
		v.dir = dir
		if answer := ask(t, v.handler(), "GET"); answer.Code != 503 || !strings.Contains(answer.Body.String(), "We’ll be back soon") {
			t.Errorf("%s: %d\n%s", name, answer.Code, answer.Body)
		}
	}
}

func TestContentInAPlainDirectory(t *testing.T) {
	v := newVolume(t)
	if err := os.WriteFile(filepath.Join(v.dir, SettingsFile), []byte(`{"title": "plain"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if body := ask(t, v.handler(), "GET").Body.String(); !strings.HasPrefix(body, "plain\n") {
		t.Errorf("it is not read:\n%s", body)
	}
}

// Versions follow each other while requests are answered. Title and contact always are of
// one version, and never the defaults: a version that is removed while it is read is not
// taken for one without files.
func TestChangeUnderRequests(t *testing.T) {
	v := newVolume(t)
	h := v.handler()
	v.putSettings("..0", &Settings{Title: "version 0", Contact: "contact 0"})
	ask(t, h, "GET")
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				body := ask(t, h, "GET").Body.String()
				var title, contact int
				if _, err := fmt.Sscanf(body, "version %d", &title); err != nil {
					t.Errorf("%v:\n%s", err, body)
					return
				}
				_, after, _ := strings.Cut(body, "Contact: ")
				if _, err := fmt.Sscanf(after, "contact %d", &contact); err != nil || contact != title {
					t.Errorf("title of version %d, contact %q", title, after)
					return
				}
			}
		})
	}
	for i := range 200 {
		v.putSettings(fmt.Sprintf("..%d", i+1), &Settings{Title: fmt.Sprintf("version %d", i+1), Contact: fmt.Sprintf("contact %d", i+1)})
	}
	close(done)
	clients.Wait()
	if body := ask(t, h, "GET").Body.String(); !strings.HasPrefix(body, "version 200\n") {
		t.Errorf("the last version is not served:\n%s", body)
	}
}

func TestOwnHTML(t *testing.T) {
	all := map[string]string{
		HTMLFile: "<p>own</p>", "index.ja.html": "<p>own ja</p>", "index.pt-BR.html": "<p>own pt</p>",
		"index.no tag.html": "left out", "index.txt": "no page", "other.html": "no page",
	}
	onlyJapanese := map[string]string{"index.ja.html": "<p>own ja</p>"}
	for _, c := range []struct {
		name, accept, acceptLanguage string
		files                        map[string]string
		language                     string
		body                         string // empty: the built-in page
	}{
		{"own page", browser, "", all, "", "<p>own</p>"},
		{"own page, another language", browser, "de", all, "", "<p>own</p>"},
		{"own page in a language", browser, "ja-JP, en;q=0.5", all, "ja", "<p>own ja</p>"},
		{"own page in a close language", browser, "pt", all, "pt-BR", "<p>own pt</p>"},
		{"only for one language", browser, "ja", onlyJapanese, "ja", "<p>own ja</p>"},
		{"only for another language", browser, "de", onlyJapanese, "de", ""},
		{"JSON", "application/json", "ja", all, "ja", "{\n"},
		{"text", "*/*", "ja", all, "ja", "メンテナンス中です"},
	} {
		v := newVolume(t)
		v.put("..1", c.files)
		answer := ask(t, v.handler(), "GET", "Accept", c.accept, "Accept-Language", c.acceptLanguage)
		if got := answer.Header().Get("Content-Language"); got != c.language {
			t.Errorf("%s: language %q, not %q", c.name, got, c.language)
		}
		want := c.body
		if want == "" {
			want = "<!doctype html>"
		}
		if !strings.HasPrefix(answer.Body.String(), want) {
			t.Errorf("%s: not %q but\n%s", c.name, want, answer.Body)
		}
		// A policy for the built-in page would break one that has scripts of its own.
		if _, has := answer.Header()["Content-Security-Policy"]; has != (c.body == "") {
			t.Errorf("%s: security policy: %t", c.name, has)
		}
	}
}
