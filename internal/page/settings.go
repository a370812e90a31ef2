// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

// Package page is the built-in maintenance page: a small server that answers every
// request with 503, in the language and the format that the client asks for. It
// depends on nothing of Kubernetes, so that its program stays small.
package page

import "time"

// Names of the files in the content directory, which are also the keys of the
// ConfigMap that the operator writes. All of them are optional.
const (
	// SettingsFile holds Settings as JSON.
	SettingsFile = "page.json"
	// HTMLFile is a page of the user's own. LanguageHTMLFile is the same for a language.
	HTMLFile = "index.html"
)

// LanguageHTMLFile is the name of the user's own page in a language, such as index.ja.html.
func LanguageHTMLFile(tag string) string { return "index." + tag + ".html" }

// HealthzPath and ReadyzPath are answered with 200 on the health port: while the
// program runs, and when it listens everywhere and has looked at its content.
const (
	HealthzPath = "/healthz"
	ReadyzPath  = "/readyz"
)

// DefaultRetryAfterSeconds is what clients are told when nothing says when the
// maintenance ends.
const DefaultRetryAfterSeconds = 300

// Settings are what the page says. Texts are plain text; line breaks are kept.
type Settings struct {
	Title   string `json:"title,omitempty"`
	Message string `json:"message,omitempty"`
	// Contact becomes a link when it is a web or a mail address.
	Contact string `json:"contact,omitempty"`
	// RetryAfterSeconds is derived from the expected end when it is 0.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`
	// ExpectedEnd is the end of a maintenance that no window describes.
	ExpectedEnd *time.Time `json:"expectedEnd,omitempty"`
	// Windows are the open and the coming windows of a schedule. The server decides at
	// each request which of them is open, so the content need not change when one opens.
	Windows []Window `json:"windows,omitempty"`
	// Translations are texts by BCP 47 language tag: languages that are not built in, or
	// better words for those that are.
	Translations map[string]Translation `json:"translations,omitempty"`
}

// Window is a planned maintenance, from Start up to but not including End.
type Window struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
}

// Translation is the page in one language. What is empty falls back: Title and Message
// to those of Settings, then everything to the built-in language and to English.
type Translation struct {
	Title   string `json:"title,omitempty"`
	Message string `json:"message,omitempty"`
	// ExpectedEndLabel and ContactLabel stand before the time and the contact.
	ExpectedEndLabel string `json:"expectedEndLabel,omitempty"`
	ContactLabel     string `json:"contactLabel,omitempty"`
	// Watching says that the page returns the visitor by itself, Returning that it does
	// so now, and Reload what to do where it cannot.
	Watching  string `json:"watching,omitempty"`
	Returning string `json:"returning,omitempty"`
	Reload    string `json:"reload,omitempty"`
	// NotProcessed answers a form that was sent.
	NotProcessed string `json:"notProcessed,omitempty"`
}
