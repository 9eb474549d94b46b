package access

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// own is a Local with pages, and what a browser keeps of it.
type own struct {
	*testing.T
	front http.Handler
	clock *clocktesting.FakeClock
	link  *url.URL
}

func newOwn(t *testing.T) *own {
	c := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	l, link, err := NewLocal("127.0.0.1:4040", c)
	if err != nil {
		t.Fatal(err)
	}
	o := &own{T: t, clock: c, front: l.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("page " + r.URL.Path))
	}))}
	if o.link, err = url.Parse(link); err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *own) get(target string, headers ...string) *http.Response {
	o.Helper()
	r := httptest.NewRequestWithContext(o.Context(), http.MethodGet, target, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	o.front.ServeHTTP(w, r)
	return w.Result()
}

func TestTheLinkOpensThePagesOnce(t *testing.T) {
	o := newOwn(t)
	base := "http://127.0.0.1:4040" + strings.TrimSuffix(o.link.Path, openPath)
	if answer := o.get(o.link.String(), "Sec-Purpose", "prefetch"); answer.StatusCode != http.StatusForbidden {
		t.Errorf("loaded in advance: %s", answer.Status)
	}
	opened := o.get(o.link.String())
	if opened.StatusCode != http.StatusSeeOther || opened.Header.Get("Location") != "./" || len(opened.Cookies()) != 1 {
		t.Fatalf("opened: %s, %v", opened.Status, opened.Header)
	}
	cookie := opened.Cookies()[0]
	mine := cookie.Name + "=" + cookie.Value
	for target, want := range map[string]string{"/": "page /", "/source/a/Secret/b": "page /source/a/Secret/b"} {
		if body := bodyOf(o.get(base+target, "Cookie", mine)); body != want {
			t.Errorf("%s is %q", target, body)
		}
	}
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "" {
		t.Errorf("the cookie is %s", cookie)
	}
	if newOwn(t).link.Path == o.link.Path {
		t.Error("the cookies of two processes have the same path")
	}
	if body := bodyOf(o.get(o.link.String(), "Cookie", mine)); body != "" {
		t.Errorf("the link in the same browser: %q", body)
	}
	for name, answer := range map[string]*http.Response{
		"the link again":      o.get(o.link.String()),
		"no cookie":           o.get(base + "/"),
		"another cookie":      o.get(base+"/", "Cookie", cookie.Name+"=x"),
		"without the path":    o.get("http://127.0.0.1:4040/", "Cookie", mine),
		"a form":              o.get("http://127.0.0.1:4040/sign-in", "Cookie", mine),
		"the path without it": o.get(base, "Cookie", mine),
	} {
		if body := bodyOf(answer); answer.StatusCode != http.StatusForbidden || !strings.Contains(body, "reroll ui") {
			t.Errorf("%s: %s %s", name, answer.Status, body)
		}
	}
}

func TestAnotherTokenOpensNothing(t *testing.T) {
	o := newOwn(t)
	for _, token := range []string{"", "x", o.link.Query().Get("token") + "x"} {
		other := *o.link
		other.RawQuery = "token=" + token
		if answer := o.get(other.String()); answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 {
			t.Errorf("%q: %s", token, answer.Status)
		}
	}
}

func TestOnlyAddressesOfThisMachineAreAnswered(t *testing.T) {
	o := newOwn(t)
	for _, host := range []string{"127.0.0.1:4040", "localhost:4040", "LOCALHOST:4040", "[::1]:4040"} {
		o.link.Host = host
		if answer := o.get(o.link.String(), "Sec-Purpose", "prefetch"); answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", host, answer.Status)
		}
	}
	for _, host := range []string{"evil.example:4040", "127.0.0.1", "127.0.0.1:4041", "localhost.evil.example:4040", "127.0.0.1.nip.io:4040", "[::1]"} {
		o.link.Host = host
		if answer := o.get(o.link.String()); answer.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(bodyOf(answer), "http://127.0.0.1:4040/") {
			t.Errorf("%s: %s", host, answer.Status)
		}
	}
}

func TestPagesOfOtherOriginsGetNothing(t *testing.T) {
	o := newOwn(t)
	base := "http://127.0.0.1:4040" + strings.TrimSuffix(o.link.Path, openPath)
	cookie := o.get(o.link.String()).Cookies()[0]
	mine := cookie.Name + "=" + cookie.Value
	for name, headers := range map[string][]string{
		"a script of another site":       {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "empty"},
		"a script of another port":       {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"},
		"a frame of another port":        {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		"the origin of another port":     {"Origin", "http://127.0.0.1:5050"},
		"an origin that is none":         {"Origin", "null"},
		"the origin of the host by name": {"Origin", "http://localhost:4040"},
	} {
		if answer := o.get(base+"/", append(headers, "Cookie", mine)...); answer.StatusCode != http.StatusForbidden || strings.Contains(bodyOf(answer), "page /") {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
	for name, headers := range map[string][]string{
		"a script of the pages":  {"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty", "Origin", "http://127.0.0.1:4040"},
		"an address":             {"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		"a link of another port": {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
	} {
		if answer := o.get(base+"/", append(headers, "Cookie", mine)...); answer.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", name, answer.Status)
		}
	}
}

func TestTheLinkExpires(t *testing.T) {
	o := newOwn(t)
	o.clock.Step(linkLasts)
	if answer := o.get(o.link.String()); answer.StatusCode != http.StatusForbidden {
		t.Errorf("after ten minutes: %s", answer.Status)
	}
}
