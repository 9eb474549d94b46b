package report

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/controller"
)

func gateURLOf(t *testing.T, server *httptest.Server, path string) *GateURL {
	t.Helper()
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	return NewGateURL(to)
}

func TestOnly200LetsAReloadStart(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	for about, tc := range map[string]struct {
		handler http.HandlerFunc
		// want is the error, empty if there is none.
		want string
	}{
		"go":               {answer(200, "no"), ""},
		"go, with much":    {answer(200, strings.Repeat("x", 1<<20)), ""},
		"another success":  {answer(204, ""), "it answered 204 No Content"},
		"a reason":         {answer(409, " 2 alerts fire:\nHighErrorRate, \x1b[31mSlow\x00 "), "it answered 409 Conflict: 2 alerts fire: HighErrorRate, [31mSlow"},
		"nothing to read":  {answer(503, ""), "it answered 503 Service Unavailable"},
		"no text":          {answer(500, "\xff\xfe"), "it answered 500 Internal Server Error: �"},
		"a huge body":      {answer(409, strings.Repeat("x", 8<<20)), "it answered 409 Conflict: " + strings.Repeat("x", mostReason-len("…")) + "…"},
		"a redirect":       {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/go?key=hunter2", http.StatusFound) }, "it answered 302 Found, a redirect to http://HOST that Reroll does not follow: set --gate-url to the final URL"},
		"its own path":     {answer(404, "Cannot GET /may"), "it answered 404 Not Found"},
		"its own token":    {answer(403, "hunter2 is unknown"), "it answered 403 Forbidden"},
		"no HTTP":          {hijacked("SSH-2.0-OpenSSH_9.6\r\n"), "the response is not HTTP: check the URL, and http:// or https://"},
		"nothing at all":   {hijacked(""), "the connection was closed without a response"},
		"a body that ends": {hijacked("HTTP/1.1 409 Conflict\r\nContent-Length: 100\r\n\r\nwait"), "it answered 409 Conflict: wait"},
	} {
		t.Run(about, func(t *testing.T) {
			var followed atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/go" {
					followed.Store(true)
				}
				tc.handler(w, r)
			}))
			g := gateURLOf(t, server, "/may?key=hunter2")
			got := ""
			if err := g.Ask(t.Context(), controller.Question{Query: "namespace=shop"}); err != nil {
				got = strings.ReplaceAll(err.Error(), strings.TrimPrefix(server.URL, "http://"), "HOST")
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if followed.Load() || strings.Contains(got, "hunter2") {
				t.Error("it follows the redirect, or shows a token")
			}
		})
	}
}

// A server that knows a part of its address alone shows it in whatever way.
func TestNoPartOfTheAddressIsShown(t *testing.T) {
	const token = "s3c/ret+to<ken"
	for _, path := range []string{"/proxy/gate/s3c%2Fret+to%3Cken/", "/gate?a=1&key=s3c%2Fret%2Bto%3Cken&b=2", "/gate?s3c%2Fret%2Bto%3Cken"} {
		for about, body := range map[string]string{
			"plain": "unknown: " + token, "for a URL": "unknown: " + url.QueryEscape(token), "for a path": "Cannot GET /" + url.PathEscape(token),
			"for HTML": "<pre>" + html.EscapeString(token) + "</pre>", "for JSON": `{"unknown":"s3c\/ret+to\u003cken"}`,
			"twice": html.EscapeString("Cannot GET /gate/s3c%2Fret+to%3Cken"),
		} {
			g := gateURLOf(t, httptest.NewServer(http.NotFoundHandler()), path)
			if !g.repeats(body) {
				t.Errorf("%s: shown, %s: %s", path, about, body)
			}
		}
	}
	g := gateURLOf(t, httptest.NewServer(http.NotFoundHandler()), "/gate?a=1&b=2")
	for _, body := range []string{"the gate is closed: 12 alerts", "100% of a=1 and b=2", "%zz", `\u00`} {
		if g.repeats(body) {
			t.Errorf("not shown: %s", body)
		}
	}
}

func hijacked(response string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		connection, buffer, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = buffer.WriteString(response)
		_ = buffer.Flush()
		_ = connection.Close()
	}
}

func TestTheQuestionIsTheQueryOfAGET(t *testing.T) {
	var asked []string
	g := gateURLOf(t, httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
	})), "/may?key=1")
	if err := g.Ask(t.Context(), controller.Question{Query: "namespace=shop&source=secret%2Fweb"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(asked, " "); got != "GET /may?key=1&namespace=shop&source=secret%2Fweb" {
		t.Errorf("asked %s", got)
	}
}

func TestAGateURLThatHangsLetsTheReloadWait(t *testing.T) {
	over := make(chan struct{})
	handlers := map[string]http.HandlerFunc{
		"no response": func(http.ResponseWriter, *http.Request) { <-over },
		"a body without an end": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusConflict)
			w.(http.Flusher).Flush()
			<-over
		},
	}
	var hanging []*GateURL
	for _, handler := range handlers {
		hanging = append(hanging, gateURLOf(t, httptest.NewServer(handler), ""))
	}
	t.Cleanup(func() { close(over) }) // before the servers are closed
	for _, g := range hanging {
		g.poster.timeout = 50 * time.Millisecond
		if err := g.Ask(t.Context(), controller.Question{}); err == nil || err.Error() != "no response within 50ms" {
			t.Errorf("got %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := hanging[0].Ask(ended, controller.Question{}); err == nil {
		t.Error("a controller that stops lets the reload start")
	}
}

func TestACertificateThatNobodySignedIsNoGateURL(t *testing.T) {
	asked := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	if err := gateURLOf(t, server, "/hunter2").Ask(t.Context(), controller.Question{}); err == nil || asked || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}
