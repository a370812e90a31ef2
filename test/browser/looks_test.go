// Copyright The web-operators Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var long = settings{
	"title": "Scheduled maintenance of the shop",
	"message": "We are moving the shop to a larger database. Orders that you have placed are safe and will be sent as usual.\n\n" +
		"Until then:\n– the catalog is in our app,\n– the stores are open.\n\n" + strings.Repeat("Thank you for bearing with us. ", 12),
	"contact":     "https://status.example.com/incidents/2030-01-31?from=maintenance-page",
	"expectedEnd": "2100-01-31T06:30:00Z",
}

var rightToLeft = settings{
	"contact":     "ops@example.com",
	"expectedEnd": "2100-01-31T06:30:00Z",
	"translations": settings{"ar": settings{
		"title": "سنعود قريبًا", "message": "نقوم حاليًا بأعمال صيانة. شكرًا لصبركم.",
		"expectedEndLabel": "موعد العودة المتوقع", "contactLabel": "للتواصل",
		"watching": "تتحقق هذه الصفحة تلقائيًا وتعيدكم فور عودتنا.", "returning": "لقد عدنا. جارٍ تحميل الصفحة…",
	}},
}

// Every page in every look: nothing for the accessibility checker to find, nothing wider
// than the screen, nothing asked of any other host, no error in the console.
func TestLooks(t *testing.T) {
	for _, page := range []struct {
		name     string
		settings settings
		language string
		dir      string
	}{
		{"default", settings{}, "en-US", "ltr"},
		{"full", settings{"contact": "ops@example.com", "expectedEnd": "2100-01-31T06:30:00Z"}, "en-US", "ltr"},
		{"long", long, "en-US", "ltr"},
		{"japanese", settings{"contact": "ops@example.com", "expectedEnd": "2100-01-31T06:30:00Z"}, "ja", "ltr"},
		{"right-to-left", rightToLeft, "ar", "rtl"},
	} {
		s := newSite(t, maintenancePage(t, page.settings))
		for _, look := range looks {
			t.Run(page.name+"/"+look.name, func(t *testing.T) {
				tab := visitor{look: look, language: page.language}.visit(t)
				requests, complaints := watch(tab)
				tab.open(s.url)

				if got := eval[string](tab, `document.documentElement.dir`); got != page.dir {
					t.Errorf("dir is %s, not %s", got, page.dir)
				}
				if wide := eval[int64](tab, `document.documentElement.scrollWidth`); wide > look.width {
					t.Errorf("it is %d pixels wide on a screen of %d", wide, look.width)
				}
				tab.screenshot(page.name + "-" + look.name)
				accessible(tab)

				for _, said := range complaints() {
					t.Errorf("in the console: %s", said)
				}
				// A headless browser asks for no favicon; another one would, if the page had none in it.
				if !eval[bool](tab, `document.querySelector('link[rel=icon]')?.href.startsWith('data:') === true`) {
					t.Error("the page has no icon in it")
				}
				// The document, and nothing else: no picture, no font.
				host := strings.TrimPrefix(s.url, "http://")
				asked := 0
				for _, request := range requests() {
					u, err := url.Parse(request)
					switch {
					case err != nil:
						t.Error(err)
					case u.Scheme == "data":
					case u.Host == host:
						asked++
					default:
						t.Errorf("a request leaves the host: %s", request)
					}
				}
				if asked != 1 {
					t.Errorf("%d requests, not one: %q", asked, requests())
				}
			})
		}
	}
}

// watch collects the requests of a tab, and what it complains about.
func watch(tab *tab) (requests, complaints func() []string) {
	asked, said := &list{}, &list{}
	sent, messages := chromedp.Events(tab.ctx, network.RequestWillBeSent), chromedp.Console(tab.ctx)
	go func() {
		for event, err := range sent {
			if err != nil {
				return
			}
			asked.add(event.Request.URL)
		}
	}()
	go func() {
		for message, err := range messages {
			switch {
			case err != nil:
				return
			case message.Source == "network": // that the page's status is 503
			default:
				said.add(message.String())
			}
		}
	}()
	return asked.all, said.all
}

type list struct {
	mu    sync.Mutex
	items []string
}

func (l *list) add(item string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.items = append(l.items, item)
}

func (l *list) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.items)
}

// accessible fails for everything that axe-core finds, and where it cannot tell whether
// the contrast suffices.
func accessible(tab *tab) {
	tab.t.Helper()
	eval[chromedp.Void](tab, axeSource)
	found := eval[[]string](tab, `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(r => {
		if (r.passes.length < 10) return ['it has checked next to nothing: ' + r.passes.length];
		return r.violations.concat(r.incomplete.filter(i => i.id === 'color-contrast')).map(v =>
			v.id + ': ' + v.help + ': ' + v.nodes.map(n => n.html + ' ' + n.failureSummary).join('; '));
	})`)
	for _, f := range found {
		tab.t.Errorf("axe-core: %s", f)
	}
}
