package browser

import (
	"testing"
)

// pages are all pages of the scene.
func pages() map[string]string {
	return map[string]string{
		"now":        "",
		"map":        "map",
		"map of one": "map?ns=shop",
		"workload":   "workload?ns=shop&kind=Deployment&name=web",
		"waits":      "workload?ns=shop&kind=Deployment&name=checkout",
		"hostile":    "workload?ns=shop&kind=Deployment&name=hostile",
		"source":     "source?ns=shop&kind=ConfigMap&name=greeting",
		"long":       "source?ns=shop&kind=ConfigMap&name=" + Long,
		"gates":      "gates",
		"controller": "controller",
		"not there":  "workload?ns=shop&kind=Deployment&name=nothing",
	}
}

func TestEachPageShowsItsState(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	b.shows("checkout", "waiting", "orphan", "missing")
	b.opens("workload?ns=shop&kind=Deployment&name=web", 200, "greeting", "up-to-date", "Reloaded")
	b.opens("workload?ns=shop&kind=Deployment&name=checkout", 200, "reroll approve")
	b.opens("source?ns=shop&kind=ConfigMap&name=greeting", 200, "web", "kubectl")
	b.opens("map?ns=shop", 200, "greeting", "web")
	b.opens("gates", 200, "checkout", "nightly", "reroll approve")
	b.opens("controller", 200, "Where Reroll reads more than you may")
}

func TestReadersSeeWhatTheyMayList(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(Some)
	b.shows("web", "greeting")
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		text, err := b.Text()
		b.must(err)
		if name == "now" && text == "" {
			t.Error("an empty page")
		}
		b.hides("accounts", "vault", "bank")
	}
	b.opens("workload?ns=shop&kind=Deployment&name=api", 200)
	b.hides("password")
	for _, page := range []string{"workload?ns=bank&kind=Deployment&name=accounts", "workload?ns=bank&kind=Deployment&name=nothing", "source?ns=shop&kind=Secret&name=password", "source?ns=bank&kind=Secret&name=vault"} {
		status, err := b.Go(page)
		b.must(err)
		if status != 403 && status != 404 {
			t.Errorf("%s answers %d", page, status)
		}
	}
}

func TestAReaderWithoutPermissionsSeesNoName(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(None)
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		if name != "long" {
			b.hides("greeting", "checkout", "accounts", "vault", "limits")
		}
	}
}

func TestHostileTextsAreText(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	for _, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		var owned bool
		b.must(b.Do(evaluate(`document.title === 'owned' || !!document.querySelector('#owned, img[src=x], main script')`, &owned)))
		if owned {
			t.Errorf("%s has markup of a user", page)
		}
		b.fits(page)
	}
	b.opens("workload?ns=shop&kind=Deployment&name=hostile", 200, "<img src=x onerror")
	b.opens("source?ns=shop&kind=ConfigMap&name="+Long, 200, Long)
}

// fits reports the elements that make a page wider than its window.
func (b *browsing) fits(page string) {
	b.Helper()
	var wide []string
	b.must(b.Do(evaluate(`(() => { const w = document.documentElement.clientWidth + 1;
		if (document.documentElement.scrollWidth <= w) return [];
		return [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > w && !e.closest('.scroll')).map(e => e.outerHTML.slice(0, 150)).slice(0, 5); })()`, &wide)))
	var over int
	b.must(b.Do(evaluate(`document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over)))
	if over > 1 && len(wide) == 0 {
		b.Errorf("%s is %d pixels wider than the window", page, over)
	}
	for _, element := range wide {
		b.Errorf("%s is wider than the window: %s", page, element)
	}
}
