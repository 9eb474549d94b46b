package access

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	signInPath, signOutPath = "/sign-in", "/sign-out"
	// assets are the files of the pages, which contain nothing about the cluster.
	assets = "/assets/"
	// cookieName is the name of the cookie with the ID of a session.
	cookieName = "reroll-session"
	// formBytes is the size of the largest form.
	formBytes = 4 * tokenBytes
	// formTakes is how long a client may take to send a form.
	formTakes = 10 * time.Second
)

// signIn exchanges a token for a session.
func (t *Tokens) signIn(w http.ResponseWriter, r *http.Request) {
	if !t.isOurForm(w, r) {
		return
	}
	id, err := t.identify(r, strings.TrimSpace(r.PostFormValue("token")))
	var secret string
	if err == nil {
		secret, err = t.readers.start(id)
	}
	next := local(r.PostFormValue("next"))
	if err != nil {
		t.refuseForm(w, r, err, next)
		return
	}
	if old, err := r.Cookie(cookieName); err == nil {
		t.readers.signOut(old.Value)
	}
	t.log.Info("signed in to the UI", "user", id.name(), "address", r.RemoteAddr)
	setCookie(w, r, secret, 0)
	found(w, next)
}

// signOut ends the session of a browser.
func (t *Tokens) signOut(w http.ResponseWriter, r *http.Request) {
	if !t.isOurForm(w, r) {
		return
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		t.readers.signOut(cookie.Value)
	}
	setCookie(w, r, "", -1)
	found(w, "")
}

// isOurForm reports whether a form of these pages was sent. Otherwise it has answered. Another site
// could sign a browser in with a token of its own, or sign it out.
func (t *Tokens) isOurForm(w http.ResponseWriter, r *http.Request) bool {
	if err := t.origins.Check(r); err != nil {
		problems(http.StatusForbidden).write(w, r)
		return false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTakes)) //nolint:forbidigo // the deadline of a connection
	r.Body = http.MaxBytesReader(w, r.Body, formBytes)
	if err := r.ParseForm(); err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		}
		problems(status).write(w, r)
		return false
	}
	return true
}

// setCookie sets or removes the cookie. It has no path: browsers then use the path of the form
// without its last part. That is where a proxy serves these pages, and nothing else that the proxy
// serves gets the cookie.
func setCookie(w http.ResponseWriter, r *http.Request, secret string, maxAge int) {
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // a port-forward has no TLS
		Name: cookieName, Value: secret, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://"),
	})
}

// found sends a browser to a page, by an address relative to that of the form.
func found(w http.ResponseWriter, page string) {
	w.Header().Set("Location", "./"+page)
	w.WriteHeader(http.StatusSeeOther)
}

// here returns the address of a request, relative to the first page.
func here(r *http.Request) string {
	page := strings.TrimLeft(r.URL.EscapedPath(), "/")
	if r.URL.RawQuery != "" {
		page += "?" + r.URL.RawQuery
	}
	return local(page)
}

// local returns an address relative to the first page, or an empty one if it may lead elsewhere.
func local(page string) string {
	to, err := url.Parse(page)
	if err != nil || to.IsAbs() || to.Host != "" || len(page) > 2000 || strings.HasPrefix(page, "/") ||
		strings.Contains(page, `\`) || slices.Contains(strings.Split(to.Path, "/"), "..") {
		return ""
	}
	to.Fragment = ""
	return to.String()
}
