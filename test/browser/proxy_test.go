package browser

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestThePagesBehindTheProxyOfTheAPIServer(t *testing.T) {
	t.Parallel()
	scene, err := built()
	if err != nil {
		t.Fatal(err)
	}
	path, err := scene.Expose(t.Context())
	if errors.Is(err, errLoopback) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	forward, err := Forward(shared.Cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(forward)
	t.Cleanup(server.Close)
	b := browseAt(t, scene, server.URL+path, desk)
	b.until("the proxy reaches the pages", func() bool {
		status, err := b.Go("map")
		b.must(err)
		return status == 401
	})
	b.as(All)
	cookie := b.cookie()
	if cookie == nil || cookie.Path != strings.TrimSuffix(path, "/") {
		t.Fatalf("the cookie is %+v", cookie)
	}
	for name, page := range pages() {
		_, err := b.Go(page)
		b.must(err)
		b.lives()
		var leading []string
		b.must(b.Do(evaluate(`[...document.querySelectorAll('[href], [src], [action]')].map(e => e.href || e.src || e.action)`, &leading)))
		for _, to := range leading {
			if !strings.HasPrefix(to, b.Home) {
				t.Errorf("%s leads to %s", name, to)
			}
		}
		if len(leading) < 8 {
			t.Errorf("%s has %d links", name, len(leading))
		}
	}
	_, err = b.Go("workload?ns=shop&kind=Deployment&name=web")
	b.must(err)
	b.shows("Deployment shop/web")
	b.must(b.Do(evaluate(`document.querySelector('form[action$="sign-out"]').requestSubmit()`, nil)))
	b.shows("Sign in to Reroll")
	b.opens("source?ns=shop&kind=ConfigMap&name=greeting", 401, "Sign in to Reroll")
}
