// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/example/web-operators/internal/golden"
)

// hostile is what a user should not be able to do to a visitor.
var hostile = Settings{
	Title:   `</title><script>alert(1)</script>`,
	Message: "first line\r\nsecond <img src=x onerror=alert(2)>\n\n\x1b[2J\"quotes\" & 'more' {{.}} \u2028",
	Contact: `javascript:alert(3)//"><svg onload=alert(4)>`,
	Translations: map[string]Translation{
		"ar": {Title: "سنعود قريبًا", ExpectedEndLabel: `"><b>`, Watching: `" onmouseover="alert(5)`},
	},
	ExpectedEnd: new(at(90).Add(time.Second)),
}

const browser = "text/html,application/xhtml+xml,*/*;q=0.8"

// The golden files are to be read by people: nothing in them may be markup that came
// from the settings, and nothing may be missing.
func TestRendered(t *testing.T) {
	plain := Settings{Contact: "ops@example.com", Windows: []Window{{at(-30), at(90)}}}
	for _, c := range []struct {
		name     string
		settings Settings
		method   string
		headers  []string
	}{
		{"default.html", Settings{}, "GET", []string{"Accept", browser}},
		{"default.json", Settings{}, "GET", []string{"Accept", "application/json"}},
		{"default.txt", Settings{}, "GET", nil},
		{"full.html", plain, "GET", []string{"Accept", browser, "Accept-Language", "ja"}},
		{"full.json", plain, "GET", []string{"Accept", "application/json", "Accept-Language", "de-AT"}},
		{"full.txt", plain, "GET", []string{"Accept-Language", "ko"}},
		{"sent.html", plain, "POST", []string{"Accept", browser}},
		{"hostile.html", hostile, "GET", []string{"Accept", browser, "Accept-Language", "ar"}},
		{"hostile.json", hostile, "GET", []string{"Accept", "application/json"}},
		{"hostile.txt", hostile, "GET", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := ask(t, with(t, &c.settings), c.method, c.headers...).Body.String()
			if strings.HasSuffix(c.name, ".html") {
				// Style and script are files of their own.
				body = strings.Replace(body, styleSource, "…", 1)
				body = strings.Replace(body, scriptSource, "…", 1)
			}
			golden.File(t, c.name, []byte(body))
		})
	}
}

func TestSecurityPolicyNamesWhatThePageHas(t *testing.T) {
	answer := ask(t, with(t, &Settings{}), "GET", "Accept", browser)
	policy := answer.Header().Get("Content-Security-Policy")
	for tag, directive := range map[string]string{"script": "script-src", "style": "style-src"} {
		found := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(answer.Body.String(), -1)
		if len(found) != 1 {
			t.Fatalf("%d elements %s, not one", len(found), tag)
		}
		if want := directive + " " + sourceHash(found[0][1]) + ";"; !strings.Contains(policy, want) {
			t.Errorf("%s does not contain %s", policy, want)
		}
	}
	if regexp.MustCompile(`\s(style|on\w+)=`).MatchString(answer.Body.String()) {
		t.Error("there are attributes with style or script, which the policy forbids")
	}
}

func TestScriptKnowsTheMarker(t *testing.T) {
	if !strings.Contains(scriptSource, "'"+MarkerHeader+"'") {
		t.Errorf("page.js does not look for %s: it would take every answer for the application's", MarkerHeader)
	}
}

func TestProblemDocument(t *testing.T) {
	answer := ask(t, with(t, &hostile), "GET", "Accept", "application/json")
	var got map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]any{
		"type": problemType, "status": float64(http.StatusServiceUnavailable), "title": hostile.Title,
		"retryAfterSeconds": float64(90*60 + 1), "expectedEnd": "2030-01-31T13:30:01Z", "contact": hostile.Contact,
	} {
		if got[member] != want {
			t.Errorf("%s is %v, not %v", member, got[member], want)
		}
	}
	if strings.ContainsRune(got["detail"].(string), '\x1b') {
		t.Error("a control character went through")
	}
}
