// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"time"

	"golang.org/x/text/language"
)

// problemType identifies the problem document (RFC 9457).
const problemType = "tag:maintpage.example.com,2026:maintenance"

var (
	//go:embed page.html
	htmlSource string
	//go:embed page.css
	styleSource string
	//go:embed page.js
	scriptSource string

	htmlTemplate = template.Must(template.New("page.html").Parse(htmlSource))

	// securityPolicy allows what the built-in page has in it and nothing else. It says
	// nothing about frames: an application that is shown in a frame of another site is to
	// be replaced there too.
	securityPolicy = "default-src 'none'; script-src " + sourceHash(scriptSource) + "; style-src " + sourceHash(styleSource) +
		"; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'"
)

// sourceHash is how a security policy names an inline script or style.
func sourceHash(source string) string {
	sum := sha256.Sum256([]byte(source))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// An answer is what one request is told, whatever the format.
type answer struct {
	text       Translation
	language   language.Tag
	contact    string
	end        time.Time // zero: nobody knows
	now        time.Time
	retryAfter int64
	// sent: the request was not a GET. To load its page again would repeat it.
	sent bool
}

// endMinute is the end as people read it, to the minute. It is rounded up: nobody minds
// an application that is back early.
func (a *answer) endMinute() time.Time { return a.end.Add(time.Minute - 1).UTC().Truncate(time.Minute) }

func (a *answer) endUTC() string { return a.endMinute().Format("2006-01-02 15:04 UTC") }

// htmlData is what the template shows.
type htmlData struct {
	Text                 Translation
	Language, Direction  string
	Style, Script        template.HTML
	End, EndUTC          string // empty: nobody knows
	EndSeconds           int64
	Contact, ContactLink string
	NotProcessed         string // empty unless something was sent
	Watches              bool   // the page returns the visitor by itself
}

func (a *answer) html() ([]byte, error) {
	data := htmlData{
		Text:        a.text,
		Language:    a.language.String(),
		Direction:   direction(a.language),
		Style:       template.HTML("<style>" + styleSource + "</style>"),
		Script:      template.HTML("<script>" + scriptSource + "</script>"),
		Contact:     a.contact,
		ContactLink: contactLink(a.contact),
		Watches:     !a.sent,
	}
	if a.sent {
		data.NotProcessed = a.text.NotProcessed
	}
	if !a.end.IsZero() {
		data.End, data.EndUTC = a.endMinute().Format(time.RFC3339), a.endUTC()
		data.EndSeconds = int64(math.Ceil(a.end.Sub(a.now).Seconds()))
	}
	var out bytes.Buffer
	err := htmlTemplate.Execute(&out, data)
	return out.Bytes(), err
}

// problem is a problem document with members of our own at the end.
type problem struct {
	Type              string `json:"type"`
	Title             string `json:"title"`
	Status            int    `json:"status"`
	Detail            string `json:"detail"`
	RetryAfterSeconds int64  `json:"retryAfterSeconds"`
	ExpectedEnd       string `json:"expectedEnd,omitempty"`
	Contact           string `json:"contact,omitempty"`
}

func (a *answer) json() ([]byte, error) {
	p := problem{
		Type:              problemType,
		Title:             a.text.Title,
		Status:            http.StatusServiceUnavailable,
		Detail:            a.text.Message,
		RetryAfterSeconds: a.retryAfter,
		Contact:           a.contact,
	}
	if !a.end.IsZero() {
		p.ExpectedEnd = a.end.UTC().Format(time.RFC3339)
	}
	out, err := json.MarshalIndent(p, "", "  ")
	return append(out, '\n'), err
}

func (a *answer) plain() []byte {
	var out bytes.Buffer
	out.WriteString(a.text.Title + "\n\n" + a.text.Message + "\n")
	if !a.end.IsZero() || a.contact != "" {
		out.WriteString("\n")
	}
	if !a.end.IsZero() {
		out.WriteString(a.text.ExpectedEndLabel + ": " + a.endUTC() + "\n")
	}
	if a.contact != "" {
		out.WriteString(a.text.ContactLabel + ": " + a.contact + "\n")
	}
	return out.Bytes()
}
