package browser

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// cookie returns the cookie of the session.
func (b *browsing) cookie() *network.Cookie {
	b.Helper()
	var found *network.Cookie
	b.must(b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		all, err := network.GetCookies().Do(ctx)
		for _, c := range all {
			if c.Name == "reroll-session" {
				found = c
			}
		}
		return err
	})))
	return found
}

func TestSignInLeadsToThePageThatWasAskedFor(t *testing.T) {
	t.Parallel()
	b := browse(t, desk)
	b.opens("workload?ns=shop&kind=Deployment&name=web", 401, "Sign in to Reroll")
	token, err := b.scene.Token(b.Tab, All)
	b.must(err)
	b.must(b.SignIn(token))
	b.shows("Deployment shop/web")
	cookie := b.cookie()
	if cookie == nil || !cookie.HTTPOnly || cookie.SameSite != network.CookieSameSiteStrict || cookie.Path != "/" {
		t.Errorf("the cookie is %+v", cookie)
	}
	var seen string
	b.must(b.Do(evaluate(`document.cookie + JSON.stringify(localStorage) + location.href`, &seen)))
	if strings.Contains(seen, "reroll-session") || strings.Contains(seen, token) {
		t.Errorf("scripts see %s", seen)
	}
	b.must(b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.Submit(`form[action$="sign-out"]`, chromedp.ByQuery).Do(ctx)
	})))
	b.shows("Sign in to Reroll")
	b.opens("", 401, "Sign in to Reroll")
}

func TestTokensThatAreNotValid(t *testing.T) {
	t.Parallel()
	b := browse(t, desk)
	token, err := b.scene.Token(b.Tab, Some)
	b.must(err)
	for name, forged := range map[string]string{
		"forged":  token[:len(token)-10] + strings.Repeat("A", 10),
		"no JWT":  "abc",
		"unknown": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6cmVhZGVyczphbGwifQ.",
	} {
		_, err := b.Go("")
		b.must(err)
		b.must(b.SignIn(forged))
		if text, _ := b.Text(); !strings.Contains(text, "does not accept that token") {
			t.Errorf("%s: %s", name, text)
		}
	}
	// The token of an account that is deleted afterwards ends the session.
	b.must(b.scene.AddReader(b.Tab, "leaver"))
	if token, err = b.scene.Token(b.Tab, "leaver"); err != nil {
		t.Fatal(err)
	}
	b.must(b.SignIn(token))
	b.shows("readers:leaver")
	b.must(b.scene.Revoke(b.Tab, "leaver"))
	b.until("the session ends", func() bool {
		status, err := b.Go("")
		b.must(err)
		return status == 401
	})
}

func TestATokenEnds(t *testing.T) {
	t.Parallel()
	b := browse(t, desk)
	token, err := b.scene.Token(b.Tab, All)
	b.must(err)
	key := filepath.Join(shared.Cluster.Dir(), "service-account.key")
	ended, err := Ending(token, time.Now().Add(-time.Minute), key)
	b.must(err)
	_, err = b.Go("gates")
	b.must(err)
	b.must(b.SignIn(ended))
	b.shows("does not accept that token. It may have expired")

	// How long it takes until the reader has signed in does not matter, but the token must be valid until then.
	for valid := 10 * time.Second; ; valid *= 2 {
		ending, err := Ending(token, time.Now().Add(valid), key)
		b.must(err)
		b.must(b.SignIn(ending))
		if text, _ := b.Text(); !strings.Contains(text, "does not accept that token") {
			break
		}
	}
	b.shows("Sign out")
	b.shows("your session has ended", "Sign in again") // the open page reports it
	// The page stays so. It used to connect again after seconds, and to report both for ever.
	b.must(b.Do(evaluate(`window.turns = 0; new MutationObserver(() => window.turns++).observe(document.getElementById('pulse-text'), {childList: true})`, nil)))
	time.Sleep(8 * time.Second)
	var turns int
	b.must(b.Do(evaluate(`window.turns`, &turns)))
	if turns != 0 {
		t.Errorf("the page changed its state %d times after the end of the session", turns)
	}
	b.opens("gates", 401, "Sign in to Reroll")
}

func TestALinkOfAnotherSiteOpensThePage(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	// A chat on another site has the link.
	other := serve(t, `<!doctype html><title>chat</title><a id="link" href="`+b.Home+`workload?ns=shop&kind=Deployment&name=web">look</a>`)
	b.allowed = append(b.allowed, other)
	b.must(b.Do(chromedp.Navigate(other), chromedp.Click("#link", chromedp.ByQuery)))
	b.shows("Deployment shop/web")
}

func TestAnotherNameOfTheMachineHasNoSession(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	// The name of another site resolves to this machine, so scripts of that site read the answers.
	renamed := strings.Replace(b.Home, "127.0.0.1", "other.test", 1)
	b.allowed, b.expected = append(b.allowed, renamed), true // the browser reports that it is no HTTPS
	for _, page := range []string{"", "live", "workload?ns=shop&kind=Deployment&name=web"} {
		status, err := b.To(renamed + page)
		b.must(err)
		if status != 401 {
			t.Errorf("%s%s answers %d", renamed, page, status)
		}
		b.shows("Sign in to Reroll")
	}
	b.opens("", 200, "checkout")
}

func TestAnotherSiteGetsNothing(t *testing.T) {
	t.Parallel()
	b := browse(t, desk).as(All)
	other := serve(t, `<!doctype html><title>other</title><iframe src="`+b.Home+`"></iframe>
<form method="post" action="`+b.Home+`sign-out"><button>x</button></form>`)
	b.allowed = append(b.allowed, other)
	b.must(b.Do(chromedp.Navigate(other)))
	var read string
	b.must(b.Do(chromedp.Evaluate(`fetch('`+b.Home+`', {credentials: 'include', mode: 'no-cors'}).then(r => r.text()).then(t => 'read ' + t.length, e => 'refused')`, &read, awaitPromise)))
	if read != "refused" && read != "read 0" {
		t.Errorf("another site has %s", read)
	}
	b.must(b.Do(evaluate(`document.querySelector('form').submit()`, nil)))
	b.shows("This form was sent by another site")
	b.expected = true // the browser reports the frame and the request that were refused
	status, err := b.Go("")
	b.must(err)
	if status != 200 {
		t.Errorf("another site has signed the reader out: %d", status)
	}
}

func TestABearerTokenNeedsNoSession(t *testing.T) {
	t.Parallel()
	b := browse(t, desk)
	token, err := b.scene.Token(b.Tab, Some)
	b.must(err)
	for header, want := range map[string]int{"Bearer " + token: 200, "Bearer wrong": 401, "": 401} {
		request, err := http.NewRequestWithContext(b.Tab, http.MethodGet, b.Home, http.NoBody)
		b.must(err)
		if header != "" {
			request.Header.Set("Authorization", header)
		}
		answer, err := http.DefaultClient.Do(request)
		b.must(err)
		text, err := io.ReadAll(answer.Body)
		b.must(err)
		_ = answer.Body.Close()
		if answer.StatusCode != want || want == 200 && !strings.Contains(string(text), "readers:some") || len(answer.Cookies()) > 0 {
			t.Errorf("%.10s: %s", header, answer.Status)
		}
	}
}
