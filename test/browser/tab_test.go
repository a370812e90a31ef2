// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A look is how a visitor sees the page.
type look struct {
	name          string
	width, height int64
	phone, dark   bool
}

var looks = []look{
	{name: "light", width: 1280, height: 800},
	{name: "dark", width: 1280, height: 800, dark: true},
	{name: "phone", width: 390, height: 844, phone: true},
}

// A visitor opens a tab of their own.
type visitor struct {
	look     look
	timeZone string
	language string // Accept-Language
	noScript bool
	motion   bool
	prepare  string // a script that runs before those of the page
}

type tab struct {
	t    *testing.T
	ctx  context.Context
	look look
}

// visit opens a tab without loading anything.
func (v visitor) visit(t *testing.T) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium)
	t.Cleanup(cancel)
	// The first use opens the tab, which ends with the context that it got.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(stop)
	tab := &tab{t, ctx, v.look}
	if v.look.name == "" {
		tab.look = looks[0]
	}
	scheme, motion := "light", "reduce"
	if tab.look.dark {
		scheme = "dark"
	}
	if v.motion {
		motion = "no-preference"
	}
	zone := v.timeZone
	if zone == "" {
		zone = "Asia/Tokyo"
	}
	language := v.language
	if language == "" {
		language = "en-US"
	}
	call(tab, network.Enable, network.EnableParams{})
	tab.resize(tab.look.height)
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: motion},
	}})
	call(tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone})
	call(tab, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}})
	call(tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: v.noScript})
	if v.prepare != "" {
		call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: v.prepare})
	}
	return tab
}

func (tab *tab) resize(height int64) {
	tab.t.Helper()
	scale := 1.0
	if tab.look.phone {
		scale = 2
	}
	call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: tab.look.width, Height: height, DeviceScaleFactor: scale, Mobile: tab.look.phone,
	})
}

// call sends one command of the browser's protocol.
func call[P, R any](tab *tab, command cdp.Command[P, R], params P) {
	tab.t.Helper()
	if _, err := chromedp.Call(tab.ctx, command, params); err != nil {
		tab.t.Fatal(err)
	}
}

// get runs an action and returns its value.
func get[T any](tab *tab, action chromedp.Action[T]) T {
	tab.t.Helper()
	value, err := chromedp.Run(tab.ctx, action)
	if err != nil {
		tab.t.Fatal(err)
	}
	return value
}

// eval evaluates an expression in the page. Promises are waited for.
func eval[T any](tab *tab, expression string) T {
	tab.t.Helper()
	return get(tab, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func (tab *tab) open(url string) {
	tab.t.Helper()
	get(tab, chromedp.Navigate(url))
}

// text is what an element shows.
func (tab *tab) text(selector string) string {
	tab.t.Helper()
	return eval[string](tab, `document.querySelector('`+selector+`').innerText`)
}

// until waits until an expression is true, also over navigations.
func (tab *tab) until(expression string) {
	tab.t.Helper()
	eventually(tab.t, expression, func() bool {
		// A page that is being replaced cannot be asked.
		value, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool](expression))
		return err == nil && value
	})
}

func (tab *tab) screenshot(name string) {
	tab.t.Helper()
	// The whole page, by a window that is high enough. What the browser draws beyond its
	// window is out of place when a page runs from right to left.
	height := eval[int64](tab, `document.documentElement.scrollHeight`)
	tab.resize(max(height, tab.look.height))
	picture := get(tab, chromedp.CaptureScreenshot())
	tab.resize(tab.look.height)
	if err := os.MkdirAll(screenshots, 0o755); err != nil {
		tab.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(screenshots, name+".png"), picture, 0o644); err != nil {
		tab.t.Fatal(err)
	}
}
