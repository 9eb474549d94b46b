package access

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	cookie, _ := s.signsIn("good")
	for name, headers := range map[string][]string{
		"another site":           {"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"},
		"another subdomain":      {"Sec-Fetch-Site", "same-site", "Origin", "https://other.example.com"},
		"an old browser":         {"Sec-Fetch-Site", "", "Origin", "https://evil.example"},
		"an origin that is none": {"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		for _, path := range []string{"/sign-in", "/sign-out"} {
			answer := s.request("POST", path, "token=good", append(headers, "Cookie", cookie)...)
			if answer.StatusCode != http.StatusForbidden || len(answer.Cookies()) > 0 {
				t.Errorf("%s may send %s: %s", name, path, answer.Status)
			}
		}
	}
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
	s.is(s.request("POST", "/sign-in", "token=good", "Sec-Fetch-Site", "", "Origin", "http://example.com"), 303, "")
}

func TestPagesOnlyRead(t *testing.T) {
	s := newStage(t)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "CONNECT"} {
		s.is(s.request(method, "/workload/shop/Deployment/web", ""), 405, "can only be read")
	}
}

func TestALinkOfAnotherSiteLeadsToThePage(t *testing.T) {
	s := newStage(t)
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	s.is(s.get(`/source/shop/Secret/a%22b?x=<b>`, link...), 200, `content="0; url=./../../../source/shop/Secret/a%22b?x=`)
	s.is(s.get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"), 401, "Sign in")
}

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	s := newStage(t)
	for _, target := range []string{"/", "/assets/reroll.css", "/sign-in"} {
		answer := s.get(target)
		if allows := answer.Header.Get("Content-Security-Policy"); !strings.HasPrefix(allows, "default-src 'none';") || strings.Contains(allows, "unsafe") || !strings.Contains(allows, "frame-ancestors 'none'") {
			t.Errorf("%s allows %s", target, allows)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "Content-Security-Policy": policy,
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", target, name, got)
			}
		}
	}
}

func TestAddressesStayBelowThePages(t *testing.T) {
	for page, want := range map[string]string{
		"":                              "",
		"workload/shop/Deployment/web":  "workload/shop/Deployment/web",
		"?q=a&ns=b":                     "?q=a&ns=b",
		"//evil.example/":               "",
		"/evil":                         "",
		"https://evil.example":          "",
		"javascript:alert(1)":           "",
		`\\evil.example`:                "",
		"a/../../evil":                  "",
		"a/%2e%2e/evil":                 "",
		"a\r\nSet-Cookie: x":            "",
		"source/shop/Secret/%E2%80%AEa": "source/shop/Secret/%E2%80%AEa",
	} {
		if got := local(page); got != want {
			t.Errorf("%q is %q, want %q", page, got, want)
		}
	}
	base, _ := url.Parse("https://host/api/v1/namespaces/r/services/ui/proxy/source/a/b/c")
	r := httptest.NewRequest(http.MethodGet, "/source/a/b/c", http.NoBody)
	if to, _ := base.Parse(root(r) + "assets/reroll.css"); to.Path != "/api/v1/namespaces/r/services/ui/proxy/assets/reroll.css" {
		t.Errorf("got %s", to)
	}
}
