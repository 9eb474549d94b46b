package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func TestEachPageIsAccessible(t *testing.T) {
	axe, err := Axe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int64{1440, 800, 390} {
		for _, dark := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d pixels, dark %v", width, dark), func(t *testing.T) {
				t.Parallel()
				b := browse(t, Look{Width: width, Height: 900, Dark: dark})
				_, err := b.Go("")
				b.must(err)
				b.isAccessible(axe, "sign in")
				b.as(All)
				for name, page := range pages() {
					_, err := b.Go(page)
					b.must(err)
					b.isAccessible(axe, name)
				}
			})
		}
	}
}

// A page is printed in dark on white, whatever the reader prefers, and without what only a screen needs.
func TestPagesPrint(t *testing.T) {
	t.Parallel()
	axe, err := Axe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := browse(t, Look{Width: 800, Height: 900, Dark: true}).as(All)
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		b.must(b.Do(emulation.SetEmulatedMedia().WithMedia("print").WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})))
		b.isAccessible(axe, name)
		var colors string
		b.must(b.Do(evaluate(`(() => { const s = getComputedStyle(document.body), n = document.querySelector('nav'); return s.backgroundColor + ' ' + s.color + ' ' + (n && n.checkVisibility()); })()`, &colors)))
		if colors != "rgb(255, 255, 255) rgb(0, 0, 0) false" {
			t.Errorf("%s is printed with %s", name, colors)
		}
	}
}

func (b *browsing) isAccessible(axe, page string) {
	b.Helper()
	found, err := b.Inaccessible(axe)
	b.must(err)
	for _, finding := range found {
		b.Errorf("%s: %s", page, finding)
	}
	b.fits(page)
}

// stays ends the updates of the page, as when a reader leaves it. Other tests change the cluster.
func (b *browsing) stays() {
	b.Helper()
	b.must(b.Do(evaluate(`window.dispatchEvent(new Event('pagehide'))`, nil)))
}

// focused describes the element with the focus, and whether a reader sees that it has it.
const focused = `(() => { const e = document.activeElement; const s = getComputedStyle(e);
	return {tag: e.tagName, href: e.getAttribute('href') || '', id: e.id, text: (e.innerText || e.value || '').slice(0, 40),
		seen: e === document.body || s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0}; })()`

type focus struct {
	Tag, Href, ID, Text string
	Seen                bool
}

func TestTheKeyboardReachesEverything(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		b.stays()
		var all int
		b.must(b.Do(evaluate(`[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, [tabindex="0"]')].filter(e => e.checkVisibility()).length`, &all)))
		reached := map[string]bool{}
		for range all + 2 {
			var at focus
			b.must(b.Do(chromedp.KeyEvent(kb.Tab), evaluate(focused, &at)))
			if at.Tag == "BODY" {
				break
			}
			if !at.Seen {
				t.Errorf("%s: the focus on %s %q is not visible", name, at.Tag, at.Text)
			}
			var path string
			b.must(b.Do(evaluate(`(() => { let p = '', e = document.activeElement; for (; e; e = e.parentElement) p = [...(e.parentElement || {children: []}).children].indexOf(e) + '/' + p; return p; })()`, &path)))
			reached[path] = true
		}
		if len(reached) < all {
			t.Errorf("%s: the keyboard reaches %d of %d", name, len(reached), all)
		}
	}
}

func TestEnterOpensAWorkload(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	_, err := b.Go("")
	b.must(err)
	b.stays()
	for range 200 {
		var at focus
		b.must(b.Do(chromedp.KeyEvent(kb.Tab), evaluate(focused, &at)))
		if at.Tag == "A" && at.Href != "" && at.Text == "Deployment web" {
			b.must(b.Do(chromedp.KeyEvent(kb.Enter)))
			b.shows("Deployment shop/web")
			return
		}
	}
	t.Error("the keyboard does not reach the workload")
}

// Lines have no text, so what they show is in the description of each link.
func TestAScreenReaderFindsTheLinesOfTheMap(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	_, err := b.Go("map?ns=shop")
	b.must(err)
	b.stays()
	for link, want := range map[string][]string{
		`#columns a[title="greeting"]`: {"A change of it rolls Deployment web"},
		`#columns a[title="web"]`:      {"Rolled by ConfigMap greeting", "of web"},
	} {
		text, err := b.Description(link)
		b.must(err)
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s is described by %q, not by %q", link, text, part)
			}
		}
	}
}

// named reports whether a reader sees what the lines of a source lead to.
const named = `(() => { const link = document.querySelector('#columns a[title="greeting"]');
	const e = document.getElementById(link.getAttribute('aria-describedby')), lines = document.querySelector('#columns .lines');
	return e.getBoundingClientRect().width > 50 && e.innerText.includes('Deployment web') && (!lines || !lines.checkVisibility()); })()`

// On a narrow screen and on paper, there are no lines.
func TestTheMapNamesWhatLinesConnect(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]Look{"phone": {Width: 390, Height: 900}, "paper": desk} {
		t.Run(name, func(t *testing.T) {
			b := browse(t, look).as(All)
			_, err := b.Go("map?ns=shop")
			b.must(err)
			b.stays()
			var seen bool
			if name == "paper" {
				b.must(b.Do(evaluate(named, &seen)))
				if seen {
					t.Error("a wide screen has both")
				}
				b.must(b.Do(emulation.SetEmulatedMedia().WithMedia("print")))
			}
			b.must(b.Do(evaluate(named, &seen)))
			if !seen {
				t.Error("nothing shows which workloads use a source")
			}
			b.fits(name)
		})
	}
}

func TestTheWeekIsInTheZoneOfTheBrowser(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	b.must(b.Do(emulation.SetTimezoneOverride("Asia/Tokyo")))
	_, err := b.Go("gates")
	b.must(err)
	b.shows("Hours in Asia/Tokyo")
}
