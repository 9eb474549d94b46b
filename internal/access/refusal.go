package access

import (
	"embed"
	"errors"
	"html/template"
	"net/http"
	"sync"

	"github.com/reroll-dev/reroll/internal/buildinfo"
)

//go:embed pages
var files embed.FS

// templates are parsed when the first page is served.
var templates = sync.OnceValue(func() *template.Template { //nolint:gochecknoglobals // a constant, parsed once
	return template.Must(template.ParseFS(files, "pages/*.html"))
})

// problem is a page about why a request has no answer.
type problem struct {
	status      int
	Title, Text string
	// Remedy is what the reader can do, and Command a command for that.
	Remedy, Command string
}

// form is the page on which a reader shows a token.
type form struct {
	problem
	// Next is the address that the reader requested.
	Next string
}

func problems(status int) problem {
	p := problem{status: status, Title: http.StatusText(status)}
	switch status {
	case http.StatusForbidden:
		p.Text = "This form was sent by another site, or by a browser that does not say which site has sent it."
		p.Remedy = "Open these pages by their own address, with HTTPS, and try again there."
	case http.StatusMethodNotAllowed:
		p.Text = "These pages change nothing, so they can only be read."
		p.Remedy = "Use GET."
	case http.StatusRequestEntityTooLarge:
		p.Text = "The form is longer than a token can be."
		p.Remedy = "Paste only the token."
	case http.StatusBadRequest:
		p.Text = "The form is incomplete."
		p.Remedy = "Send it again."
	case http.StatusTooManyRequests:
		p.Text = "Too many pages of this reader are open."
		p.Remedy = "Close some of them, then reload this page."
	case http.StatusServiceUnavailable:
		p.Text = "The API server did not say whether your token is still valid."
		p.Remedy = "Reload this page in a moment. If that does not help, the controller lacks the permission to create tokenreviews:"
		p.Command = "kubectl auth can-i create tokenreviews.authentication.k8s.io --as=system:serviceaccount:NAMESPACE:NAME"
	}
	return p
}

// refuse answers a request without a reader.
func (t *Tokens) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, errNoToken) && isFollowedLink(r):
		// From the page of this answer, the browser asks again, with the cookie.
		write(w, r, http.StatusOK, "again.html", here(r))
	case r.Header.Get("Authorization") != "" && (errors.Is(err, errRejected) || errors.Is(err, errNotAToken)):
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		problem{
			status: http.StatusUnauthorized, Title: "Your token is not accepted",
			Text:   "The API server does not accept the token in the header Authorization. The token may have expired, or it is for another cluster.",
			Remedy: "Get a new token. If a proxy sends the header, sign in to the proxy again.", Command: "kubectl create token NAME",
		}.write(w, r)
	default:
		t.refuseForm(w, r, err, here(r))
	}
}

// refuseForm shows the form, with the reason why it is shown again.
func (t *Tokens) refuseForm(w http.ResponseWriter, r *http.Request, err error, next string) {
	f := form{Next: next}
	f.status = http.StatusUnauthorized
	switch {
	case errors.Is(err, errNoToken):
	case errors.Is(err, errSessionEnd):
		f.Text = "Your session has ended. Sign in again to continue where you were."
	case errors.Is(err, errNotAToken):
		f.Text = "That is not a token: a token is one word of letters, digits and punctuation. Paste it without quotes."
	case errors.Is(err, errRejected):
		f.Text = "The API server does not accept that token. It may have expired, or it is for another cluster."
	case errors.Is(err, errManyAttempts):
		f.status = http.StatusTooManyRequests
		f.Text = "Too many tokens from your address were not accepted. Wait a minute, then try again."
		w.Header().Set("Retry-After", "60")
	default:
		t.log.Warn("could not review a token for the UI", "error", err.Error())
		problems(http.StatusServiceUnavailable).write(w, r)
		return
	}
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	write(w, r, f.status, "sign-in.html", f)
}

func (p problem) write(w http.ResponseWriter, r *http.Request) {
	write(w, r, p.status, "problem.html", p)
}

// write writes a page. The client may be gone, so errors are of no use.
func write(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = templates().ExecuteTemplate(w, name, struct {
		Root, Help string
		Data       any
	}{root(r), buildinfo.Doc("how-to/ui.md"), data})
}
