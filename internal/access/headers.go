package access

import (
	"net/http"
	"strings"
)

// policy lets a page load only files of this server, and nothing frame the page.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// SetHeaders sets the headers that every answer needs. The pages show names that only their reader may
// see, so nothing keeps a copy, and no other page may embed or open them.
//
// The referrer goes to no other origin. With no-referrer, browsers would also send "Origin: null"
// with the forms of these pages, which could not be distinguished from forms of other pages then.
func SetHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// root returns the relative address of the first page. Proxies serve the pages below any path, which
// this server does not know.
func root(r *http.Request) string {
	depth := strings.Count(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	return "./" + strings.Repeat("../", depth)
}

// isRead reports whether a request changes nothing.
func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// isFollowedLink reports whether a user has followed a link of another site. A browser then leaves
// out a cookie that is for the same site only.
func isFollowedLink(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}
