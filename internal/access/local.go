package access

import (
	"crypto/rand"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// linkLasts is how long the one-time link is valid.
const linkLasts = 10 * time.Minute

// Local admits the user with the one-time link, on the user's own machine. Other users of the
// machine and web pages can reach the port, too.
//
// All addresses have a random first part. Browsers send a cookie to every port of a host, so
// without that part, programs of other users at other ports would get the cookie.
type Local struct {
	clock clock.Clock
	port  string
	base  string

	mu      sync.Mutex
	link    fingerprint
	until   time.Time
	used    bool
	session fingerprint
}

// NewLocal returns a Local for a server at this address, and the link to print.
func NewLocal(address string, c clock.Clock) (l *Local, link string, err error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	secret := rand.Text()
	l = &Local{clock: c, port: port, base: "/" + strings.ToLower(rand.Text()[:16]), link: fingerprintOf(secret), until: c.Now().Add(linkLasts)}
	return l, "http://127.0.0.1:" + port + l.base + openPath + "?token=" + secret, nil
}

// openPath is the path of the link, which exchanges its token for a cookie.
const openPath = "/open"

// Protect serves the pages to the user with the link, and to nobody else.
func (l *Local) Protect(pages http.Handler) http.Handler {
	inner := http.StripPrefix(l.base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == openPath:
			l.open(w, r)
		case strings.HasPrefix(r.URL.Path, assets), l.knows(r):
			pages.ServeHTTP(w, r)
		case isFollowedLink(r):
			write(w, r, http.StatusOK, "again.html", here(r))
		default:
			needsLink().write(w, r)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header())
		switch {
		case !l.isOurHost(r.Host):
			wrongHost(l.port).write(w, r)
		case l.isOfOtherOrigin(r):
			otherOrigin().write(w, r)
		case !isRead(r):
			w.Header().Set("Allow", "GET, HEAD")
			problems(http.StatusMethodNotAllowed).write(w, r)
		case strings.HasPrefix(r.URL.Path, assets):
			pages.ServeHTTP(w, r) // for the page that asks for the link
		case strings.HasPrefix(r.URL.Path, l.base+"/"):
			inner.ServeHTTP(w, r)
		default:
			needsLink().write(w, r)
		}
	})
}

// isOurHost reports whether a browser was sent here by an address of this machine. The name of
// another host may resolve to it, and a page of that host could read the answers then.
func (l *Local) isOurHost(host string) bool {
	for _, own := range []string{"127.0.0.1", "localhost", "::1"} {
		if strings.EqualFold(host, net.JoinHostPort(own, l.port)) {
			return true
		}
	}
	return false
}

// isOfOtherOrigin reports whether a page of another origin has sent a request, other than by a link
// that the user follows. Programs of other users at other ports are of the same site, so browsers
// send cookies with the requests of their pages.
func (l *Local) isOfOtherOrigin(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
		return true
	}
	site := r.Header.Get("Sec-Fetch-Site")
	isLink := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return (site == "cross-site" || site == "same-site") && !isLink
}

// open exchanges the token of the link for a cookie, once.
func (l *Local) open(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet || r.Header.Get("Sec-Purpose") != "" || r.Header.Get("Purpose") != "" {
		// A browser that loads pages in advance would use up the link.
		needsLink().write(w, r)
		return
	}
	if l.knows(r) {
		found(w, "")
		return
	}
	secret, ok := l.exchange(r.URL.Query().Get("token"))
	if !ok {
		needsLink().write(w, r)
		return
	}
	setCookie(w, r, secret, 0)
	found(w, "")
}

func (l *Local) exchange(token string) (secret string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used || fingerprintOf(token) != l.link || !l.clock.Now().Before(l.until) {
		return "", false
	}
	l.used, secret = true, rand.Text()+rand.Text()
	l.session = fingerprintOf(secret)
	return secret, true
}

func (l *Local) knows(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used && fingerprintOf(cookie.Value) == l.session
}

func needsLink() problem {
	return problem{
		status: http.StatusForbidden, Title: "Open the link that reroll ui has printed",
		Text:   "These pages show what your kubeconfig may read, so they open only in the browser that has used the link. The link works once, within ten minutes.",
		Remedy: "If the link was used without you, end reroll ui with Ctrl+C. For a new link, start it again:", Command: "reroll ui",
	}
}

func otherOrigin() problem {
	return problem{
		status: http.StatusForbidden, Title: "Another site has sent this request",
		Text:   "These pages are only for the browser that has used the link of reroll ui, and no other page may read them.",
		Remedy: "Open the pages by the address that reroll ui has printed.",
	}
}

func wrongHost(port string) problem {
	return problem{
		status: http.StatusMisdirectedRequest, Title: "This is not the address of reroll ui",
		Text:   "Another site may use its own name for this machine, to read pages that are only for you.",
		Remedy: "Use the address that reroll ui has printed. It begins with http://127.0.0.1:" + port + "/.",
	}
}
