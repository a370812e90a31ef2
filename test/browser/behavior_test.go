// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestTimeIsTheVisitorsOwn(t *testing.T) {
	s := newSite(t, maintenancePage(t, settings{"expectedEnd": "2100-01-31T06:30:00Z"}))
	for _, c := range []struct{ zone, language, want string }{
		{"Asia/Tokyo", "en", "Sunday, January 31 at 3:30 PM GMT+9"},
		{"Asia/Tokyo", "ja", "1月31日日曜日 15:30 JST"},
		{"America/Los_Angeles", "en", "Saturday, January 30 at 10:30 PM PST"},
		{"Europe/Berlin", "de", "Sonntag, 31. Januar um 07:30 MEZ"},
	} {
		tab := visitor{timeZone: c.zone, language: c.language}.visit(t)
		tab.open(s.url)
		// Some languages put narrow spaces into a time.
		shown := strings.ReplaceAll(tab.text("#local"), "\u202f", " ")
		if shown != c.want {
			t.Errorf("%s, %s: %q, not %q", c.zone, c.language, shown, c.want)
		}
		if utc := tab.text("#utc"); utc != "2100-01-31 06:30 UTC" {
			t.Errorf("%s: beside it there is %q", c.zone, utc)
		}
	}
}

func TestWithoutScript(t *testing.T) {
	s := newSite(t, maintenancePage(t, settings{"contact": "ops@example.com", "expectedEnd": "2100-01-31T06:30:00Z"}))
	tab := visitor{noScript: true}.visit(t)
	tab.open(s.url)
	if eval[bool](tab, `!document.getElementById('local').hidden`) {
		t.Error("the script has run")
	}
	for selector, want := range map[string]string{
		"time": "2100-01-31 06:30 UTC", "#status": "Please reload this page in a little while.", "a": "ops@example.com",
	} {
		if got := strings.TrimSpace(tab.text(selector)); got != want {
			t.Errorf("%s shows %q, not %q", selector, got, want)
		}
	}
}

// In real time: the visitor waits, and is back when the application is.
func TestVisitorReturns(t *testing.T) {
	maintenance := maintenancePage(t, settings{})
	s := newSite(t, maintenance)
	tab := visitor{motion: true}.visit(t)
	tab.open(s.url + "/orders?id=7#last")
	if got := tab.text("#status"); got != "This page checks by itself and takes you back as soon as we are ready." {
		t.Errorf("the page says %q", got)
	}
	opened := time.Now()
	s.switchTo(app)
	tab.until(`document.title === '` + appTitle + `'`)
	if waited := time.Since(opened); waited < 4*time.Second {
		t.Errorf("the page asked after %v", waited)
	}
	if got := eval[string](tab, `location.href`); got != s.url+"/orders?id=7#last" {
		t.Errorf("the visitor is at %s", got)
	}
}

// fast makes timers run a hundred times as fast, and notes how long each was to take.
// It also lets a test hide the tab.
const fast = `
	window.delays = [];
	window.timers = new Set();
	const start = window.setTimeout, stop = window.clearTimeout;
	window.setTimeout = (f, delay) => {
		delays.push(delay);
		const id = start(() => { timers.delete(id); f(); }, delay / 100);
		timers.add(id);
		return id;
	};
	window.clearTimeout = id => { timers.delete(id); stop(id); };
	window.hide = hidden => {
		Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
		document.dispatchEvent(new Event('visibilitychange'));
	};`

func TestChecksAreFewAndFar(t *testing.T) {
	s := newSite(t, maintenancePage(t, settings{}))
	tab := visitor{prepare: fast}.visit(t)
	tab.open(s.url)
	tab.until(`delays.length > 15`)
	eval[chromedp.Void](tab, `hide(true)`)

	delays := eval[[]float64](tab, `delays`)
	for i, delay := range delays {
		if delay < 5000 || delay > 90000 {
			t.Errorf("wait %d is %.0f ms", i, delay)
		}
		if i >= 6 && delay < 30000 {
			t.Errorf("wait %d is only %.0f ms: they do not get longer", i, delay)
		}
	}
	if delays[10] == delays[11] && delays[11] == delays[12] {
		t.Errorf("the waits do not differ: %v", delays)
	}

	// A check may be under way, which plans the next one; that finds the tab hidden.
	tab.until(`timers.size === 0`)
	checks := s.count("HEAD")
	eval[chromedp.Void](tab, `hide(false)`)
	eventually(t, "a visitor who looks again has the page check again", func() bool { return s.count("HEAD") > checks })
	if loads := s.count("GET"); loads != 1 {
		t.Errorf("the page was loaded %d times", loads)
	}
}

// What the page takes for the application, and what not.
func TestWhoAnswers(t *testing.T) {
	maintenance := maintenancePage(t, settings{})
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for _, c := range []struct {
		name   string
		answer http.Handler
		loads  bool
	}{
		{"the application", app, true},
		{"an application without HEAD", status(http.StatusMethodNotAllowed), true},
		{"a login", http.RedirectHandler("/login", http.StatusFound), true},
		{"the application's own 503", status(http.StatusServiceUnavailable), true},
		{"a gateway without application", status(http.StatusBadGateway), false},
		{"a gateway that has waited", status(http.StatusGatewayTimeout), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t, maintenance)
			tab := visitor{prepare: fast}.visit(t)
			tab.open(s.url)
			before := s.count("GET")
			s.switchTo(c.answer)
			checks := s.count("HEAD")
			if c.loads {
				eventually(t, "the page is loaded again", func() bool { return s.count("GET") > before })
				return
			}
			eventually(t, "it has been asked three times", func() bool { return s.count("HEAD") > checks+3 })
			if s.count("GET") != before {
				t.Error("the page was loaded again")
			}
		})
	}
}

// The time that the page shows passes: it is loaded again, and shows no time that is past.
func TestExpectedEndPasses(t *testing.T) {
	s := newSite(t, maintenancePage(t, settings{"expectedEnd": time.Now().Add(2 * time.Second).Format(time.RFC3339Nano)}))
	tab := visitor{prepare: fast}.visit(t)
	tab.open(s.url)
	tab.until(`document.querySelector('#status') !== null && document.querySelector('time') === null`)
}

// A form that was sent is not sent again.
func TestFormIsNotSentAgain(t *testing.T) {
	maintenance := maintenancePage(t, settings{"expectedEnd": "2100-01-31T06:30:00Z"})
	s := newSite(t, app)
	tab := visitor{prepare: fast}.visit(t)
	tab.open(s.url)
	s.switchTo(maintenance)
	eval[chromedp.Void](tab, `document.querySelector('form').submit()`)
	tab.until(`document.querySelector('.notice') !== null`)
	if got := tab.text(".notice"); got != "What you just sent was not processed. Please try again once we are back." {
		t.Errorf("the page says %q", got)
	}
	if shown := tab.text("#local"); !strings.Contains(shown, "GMT+9") {
		t.Errorf("the time is not the visitor's: %q", shown)
	}
	if eval[bool](tab, `timers.size > 0 || delays.length > 0 || document.querySelector('#status') !== null`) {
		t.Error("the page means to do something by itself")
	}
	if posts := s.count("POST"); posts != 1 {
		t.Errorf("the form was sent %d times", posts)
	}
	accessible(tab) // last: it has timers of its own
}
