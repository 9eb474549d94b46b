package report

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/controller"
)

// gateURLTakes bounds how long an answer may take. A reload waits that long if the address of
// --gate-url hangs.
const gateURLTakes = 5 * time.Second

// mostReason bounds the reason in an answer, and mostBody what is read of it, in bytes.
const (
	mostReason = 300
	mostBody   = 4 << 10
)

// GateURL asks the address of --gate-url before each reload. It follows no redirect, verifies TLS,
// and ignores the proxy of the environment.
type GateURL struct{ poster *poster }

// NewGateURL returns a GateURL for an address, which may contain a token.
func NewGateURL(to *url.URL) *GateURL {
	p := newPoster(to, nil)
	p.setting, p.timeout = "--gate-url", gateURLTakes
	return &GateURL{poster: p}
}

// Receiver is the part of the address that is not secret.
func (g *GateURL) Receiver() string { return g.poster.receiver() }

// Ask returns nil if the reload may start, and otherwise why it waits, in one line.
func (g *GateURL) Ask(ctx context.Context, q controller.Question) error {
	to := *g.poster.to
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += q.Query
	return g.poster.request(ctx, http.MethodGet, &to, payload{}, g.take)
}

// take reads the answer: 200 means that the reload may start.
func (g *GateURL) take(answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	if answer.StatusCode < http.StatusBadRequest {
		if err := g.poster.checkStatus(answer); err != nil {
			return err // a redirect, with its remedy
		}
	}
	// What was read counts, even if the connection breaks off.
	body, _ := io.ReadAll(io.LimitReader(answer.Body, mostBody))
	answered := "it answered " + status(answer.StatusCode)
	if reason := strings.TrimSpace(OneLine(strings.ToValidUTF8(string(body), "�"))); reason != "" && !g.repeats(reason) {
		answered = fmt.Sprintf("%s: %s", answered, cutTo(reason, mostReason))
	}
	return failure(answered)
}

// shortestToken is the length in bytes from which a value in the address may be a token. Shorter ones
// are part of ordinary words.
const shortestToken = 4

// longToken is the length in bytes from which a part of the path may be a token without the slash
// in front of it.
const longToken = 8

// repeats reports whether a text has a part of the address that may be a token. Many servers repeat
// the path of a request in their errors, escaped in some way, or without what a proxy removed.
func (g *GateURL) repeats(text string) bool {
	to := g.poster.to
	var secret []string
	for part := range strings.SplitSeq(to.EscapedPath(), "/") {
		part = unescaped(part)
		secret = append(secret, "/"+part)
		if len(part) >= longToken {
			secret = append(secret, part)
		}
	}
	for pair := range strings.SplitSeq(to.RawQuery, "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			value = name
		}
		secret = append(secret, unescaped(value))
	}
	if password, set := to.User.Password(); set {
		secret = append(secret, unescaped(password))
	}
	text = unescaped(text)
	return slices.ContainsFunc(secret, func(s string) bool { return len(s) >= shortestToken && strings.Contains(text, s) })
}

// escaped matches a byte that was escaped for a URL or for JSON.
var escaped = regexp.MustCompile(`(?:%|\\u00)[0-9a-fA-F]{2}`)

// unescaped is a text as it was before it was escaped for a URL, for JSON or for HTML. What is no
// valid escape stays as it is.
func unescaped(text string) string {
	text = escaped.ReplaceAllStringFunc(html.UnescapeString(text), func(char string) string {
		n, err := strconv.ParseUint(char[len(char)-2:], 16, 8)
		if err != nil {
			return char
		}
		return string([]byte{byte(n)})
	})
	return strings.NewReplacer(`\/`, "/", "+", " ").Replace(text)
}
