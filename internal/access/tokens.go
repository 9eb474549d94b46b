package access

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"k8s.io/utils/clock"
)

// tokenBytes is the longest token that the API server is asked about.
const tokenBytes = 16 << 10

// Tokens admits readers who show a token of the cluster.
type Tokens struct {
	readers  *readers
	attempts *attempts
	origins  *http.CrossOriginProtection
	log      *slog.Logger
}

// NewTokens returns Tokens without readers.
func NewTokens(api Reviews, c clock.WithDelayedExecution, log *slog.Logger) *Tokens {
	return &Tokens{readers: newReaders(api, c), attempts: newAttempts(c), origins: http.NewCrossOriginProtection(), log: log}
}

// Protect serves the pages to readers, and the form for a token to everybody else. The assets are
// the same for everybody.
func (t *Tokens) Protect(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header())
		switch {
		case r.Method == http.MethodPost && r.URL.Path == signInPath:
			t.signIn(w, r)
		case r.Method == http.MethodPost && r.URL.Path == signOutPath:
			t.signOut(w, r)
		case !isRead(r):
			w.Header().Set("Allow", "GET, HEAD")
			problems(http.StatusMethodNotAllowed).write(w, r)
		case strings.HasPrefix(r.URL.Path, assets):
			pages.ServeHTTP(w, r)
		default:
			t.serve(w, r, pages)
		}
	})
}

// serve answers a request for a page.
func (t *Tokens) serve(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	id, s, err := t.reader(r)
	if err != nil {
		t.refuse(w, r, err)
		return
	}
	if !t.readers.begin(id, s) {
		w.Header().Set("Retry-After", "5")
		problems(http.StatusTooManyRequests).write(w, r)
		return
	}
	defer t.readers.finish(id, s)
	ended := id.ended
	if s != nil {
		ended = s.ended
	}
	ctx, cancel := context.WithCancel(context.WithValue(r.Context(), readerKey{}, Reader{id, t.readers.permits, s != nil}))
	defer cancel()
	defer context.AfterFunc(ended, cancel)()
	pages.ServeHTTP(w, r.WithContext(ctx))
}

var (
	errNoToken      = errors.New("no token")
	errManyAttempts = errors.New("too many tokens were not accepted")
	errNotAToken    = errors.New("this is not a token")
	errSessionEnd   = errors.New("the session has ended")
)

// reader returns the reader of a request. A header comes from a proxy that has authenticated this
// request, so it counts more than a cookie, which may be of another user of the same browser.
func (t *Tokens) reader(r *http.Request) (id *identity, s *session, err error) {
	if header := r.Header.Get("Authorization"); header != "" {
		token, ok := bearer(header)
		if !ok {
			return nil, nil, errNotAToken
		}
		id, err = t.identify(r, token)
		return id, nil, err
	}
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil, nil, errNoToken
	}
	if s = t.readers.session(cookie.Value); s == nil {
		return nil, nil, errSessionEnd
	}
	return s.id, s, t.readers.review(r.Context(), s.id)
}

func bearer(header string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(header, " ")
	return strings.TrimSpace(token), ok && strings.EqualFold(scheme, "Bearer")
}

// identify returns whose token it is.
func (t *Tokens) identify(r *http.Request, token string) (*identity, error) {
	if !isToken(token) {
		return nil, errNotAToken
	}
	if id := t.readers.known(token); id != nil {
		return id, t.readers.review(r.Context(), id)
	}
	if !t.attempts.admit(r.RemoteAddr) {
		return nil, errManyAttempts
	}
	id, err := t.readers.accept(r.Context(), token)
	if errors.Is(err, errRejected) {
		t.attempts.failed(r.RemoteAddr)
		t.log.Debug("a token was not accepted", "address", r.RemoteAddr)
	}
	return id, err
}

// isToken reports whether a text can be a token in a header.
func isToken(text string) bool {
	return text != "" && len(text) <= tokenBytes && !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}
