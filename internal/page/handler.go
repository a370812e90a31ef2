// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/language"
)

// MarkerHeader and MarkerValue are on every answer of this server, so that the page's
// script can tell it from the application's own 503.
const (
	MarkerHeader = "X-Maintenance-Page"
	MarkerValue  = "built-in"
)

// What is read of a request's body after it has been answered. A connection that is
// closed while its client still sends is reset, and the client may lose the answer.
const (
	maxDrain  = 8 << 20
	drainTime = 10 * time.Second
)

// handler answers every request with 503.
type handler struct {
	store *store
	now   func() time.Time
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The answer goes out before the body is read: a client that waits for it sends no
	// more, and one that asked for leave to send (Expect: 100-continue) never begins.
	h.answer(w, r)
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	control := http.NewResponseController(w)
	_ = control.Flush()
	_ = control.SetReadDeadline(time.Now().Add(drainTime))
	_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) {
	now := h.now()
	content := h.store.get()
	acceptLanguage := strings.Join(r.Header.Values("Accept-Language"), ",")

	a := answer{
		contact: content.settings.Contact,
		end:     content.settings.expectedEnd(now),
		now:     now,
		sent:    r.Method != http.MethodGet && r.Method != http.MethodHead,
	}
	a.language, a.text = content.languages.choose(acceptLanguage)
	a.retryAfter = content.settings.retryAfter(now, a.end)

	header := w.Header()
	kind := negotiate(r.Header.Values("Accept"))
	var body []byte
	var err error
	switch kind {
	case formatHTML:
		if tag, own := content.html.choose(acceptLanguage); own != nil {
			body, a.language = own, tag
			break
		}
		header.Set("Content-Security-Policy", securityPolicy)
		body, err = a.html()
	case formatJSON:
		body, err = a.json()
	default:
		body = a.plain()
	}
	if err != nil {
		kind, body = formatText, a.plain()
	}

	header.Set("Content-Type", mediaTypes[kind])
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if a.language != language.Und {
		header.Set("Content-Language", a.language.String())
	}
	header.Set("Retry-After", strconv.FormatInt(a.retryAfter, 10))
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept, Accept-Language")
	// A client that kept its connection would stay here after traffic has gone back.
	header.Set("Connection", "close")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set(MarkerHeader, MarkerValue)
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = w.Write(body)
}
