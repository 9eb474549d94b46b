package browser

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/reroll-dev/reroll/test/harness"
)

// This test stops the controller, so it runs before the parallel ones.
func TestPagesLiveThroughARestart(t *testing.T) {
	b := browse(t, desk).as(All)
	_, err := b.Go("workload?ns=shop&kind=Deployment&name=web")
	b.must(err)
	b.lives()
	before, err := b.scene.Shop.Rolls(b.Tab, harness.Ref{Kind: "deployment", Name: "web"})
	b.must(err)
	b.must(b.Do(evaluate(`window.same = 'yes'`, nil)))
	b.edits()
	b.shows(fmt.Sprintf("%d reloads", before+1))
	var same string
	b.must(b.Do(evaluate(`window.same || ''`, &same)))
	if same != "yes" {
		t.Error("the page was loaded again for an update")
	}

	b.must(b.scene.Controller.Stop(b.Tab))
	t.Cleanup(func() {
		if b.scene.Controller.Running() != nil {
			_ = b.scene.Start(context.WithoutCancel(t.Context()))
		}
	})
	b.shows("reconnecting")
	b.must(b.scene.Start(b.Tab))
	// Sessions are in memory only, so the reader shows the token again, on the same page.
	b.shows("your session has ended")
	_, err = b.Go("workload?ns=shop&kind=Deployment&name=web")
	b.must(err)
	token, err := b.scene.Token(b.Tab, All)
	b.must(err)
	b.must(b.SignIn(token))
	b.shows("Deployment shop/web")
	b.edits()
	b.shows(fmt.Sprintf("%d reloads", before+2))
}

// lives waits until the page follows the cluster.
func (b *browsing) lives() {
	b.Helper()
	b.until("the page is live", func() bool {
		var state string
		err := b.Do(evaluate(`document.getElementById('pulse-text')?.textContent || ''`, &state))
		return err == nil && state == "live"
	})
}

// Parallel tests would see its workload.
func TestPartsOfAPageAppearAndDisappear(t *testing.T) {
	b := browse(t, desk).as(All)
	passing := harness.Ref{Kind: "deployment", Name: "passing"}
	b.must(b.scene.Shop.Apply(b.Tab, Source("passing", "ConfigMap")+Deployment("passing", "ConfigMap", "passing", 1)))
	b.must(Adopted(b.Tab, b.scene.Shop, "passing"))
	b.until("the pages know it", func() bool {
		status, err := b.Go("workload?ns=shop&kind=Deployment&name=passing")
		b.must(err)
		return status == 200
	})
	b.lives()
	b.hides("Mistakes")
	b.must(b.scene.Shop.Annotate(b.Tab, passing, "reroll.dev/window=whenever"))
	b.shows("Mistakes", "whenever")
	b.must(b.scene.Shop.Annotate(b.Tab, passing, "reroll.dev/window-"))
	b.until("the mistake is gone", func() bool {
		text, err := b.Text()
		return err == nil && !strings.Contains(text, "Mistakes")
	})
	b.must(b.scene.Shop.Delete(b.Tab, passing))
	b.shows("There is no such workload")
}

func (b *browsing) edits() {
	b.Helper()
	b.must(b.scene.Edit(b.Tab, "greeting", time.Now().String(), "kubectl"))
}

// A browser has six connections to a host, and each page that follows the cluster takes one.
func TestManyOpenTabsLeaveConnectionsForOthers(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	const tabs = 9
	for i := range tabs {
		open, err := b.Another(b.Home + "gates")
		b.must(err)
		t.Cleanup(open.Close)
		bounded, cancel := context.WithTimeout(open, time.Minute)
		err = chromedp.Run(bounded, chromedp.WaitReady("#pulse", chromedp.ByQuery), chromedp.Poll(`document.getElementById('pulse-text').textContent === 'live'`, nil))
		cancel()
		if err != nil {
			t.Fatalf("tab %d of %d: %v", i+1, tabs, err)
		}
	}
}

// A page that nobody sees has no connection, and catches up when it is seen again.
func TestAHiddenPageCatchesUp(t *testing.T) {
	b := browse(t, desk).as(All)
	_, err := b.Go("workload?ns=shop&kind=Deployment&name=web")
	b.must(err)
	b.lives()
	before, err := b.scene.Shop.Rolls(b.Tab, harness.Ref{Kind: "deployment", Name: "web"})
	b.must(err)
	b.sees(false)
	b.shows("paused")
	b.edits()
	b.must(b.scene.Shop.AwaitRolls(b.Tab, harness.Ref{Kind: "deployment", Name: "web"}, before+1))
	b.hides(fmt.Sprintf("%d reloads", before+1))
	b.sees(true)
	b.lives()
	b.shows(fmt.Sprintf("%d reloads", before+1))
}

// sees shows or hides the page, as when a reader selects another tab.
func (b *browsing) sees(is bool) {
	b.Helper()
	b.must(b.Do(evaluate(fmt.Sprintf(`Object.defineProperty(document, 'hidden', {value: %v, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))`, !is), nil)))
}
