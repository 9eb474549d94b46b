package access

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// stage is Tokens before a fake API server, with a stopped clock.
type stage struct {
	*testing.T
	*Tokens
	clock *clocktesting.FakeClock
	log   strings.Builder
	pages http.HandlerFunc
	front http.Handler

	mu sync.Mutex
	// users has the accepted tokens.
	users map[string]authenticationv1.UserInfo
	// may has what is allowed: user namespace/resource. Denied counts more.
	may, denied map[string]bool
	// down is the error of every review.
	down error
	// slow is called during each access review.
	slow          func()
	tokensAsked   int
	asked         map[string]int
	lastSubjects  authorizationv1.SubjectAccessReviewSpec
	lastAudiences []string
}

func newStage(t *testing.T) *stage {
	s := &stage{
		T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		users: map[string]authenticationv1.UserInfo{}, may: map[string]bool{}, denied: map[string]bool{}, asked: map[string]int{},
	}
	s.Tokens = NewTokens(s, s.clock, slog.New(slog.NewTextHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	s.pages = func(w http.ResponseWriter, r *http.Request) {
		if reader, ok := Of(r); ok {
			_, _ = w.Write([]byte("page of " + reader.Name()))
		}
	}
	s.front = s.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.pages(w, r) }))
	return s
}

func (s *stage) TokenReviews() clientset.Creator[*authenticationv1.TokenReview] {
	return tokenReviews{s}
}
func (s *stage) SubjectAccessReviews() clientset.Creator[*authorizationv1.SubjectAccessReview] {
	return accessReviews{s}
}

// forged is the beginning of a token that resembles the one after it.
const forged = "forged-"

type tokenReviews struct{ *stage }

func (s tokenReviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokensAsked++
	s.lastAudiences = review.Spec.Audiences
	if s.down != nil {
		return nil, errors.New(s.down.Error() + " " + review.Spec.Token)
	}
	// The API server may name the user of a token that it does not accept.
	genuine := strings.TrimPrefix(review.Spec.Token, forged)
	review.Status.User = s.users[genuine]
	review.Status.Authenticated = genuine == review.Spec.Token && review.Status.User.Username != ""
	return review, nil
}

type accessReviews struct{ *stage }

func (s accessReviews) Create(_ context.Context, review *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	of := review.Spec.ResourceAttributes
	key := review.Spec.User + " " + of.Namespace + "/" + of.Resource
	s.mu.Lock()
	s.asked[key]++
	s.lastSubjects = review.Spec
	slow, down := s.slow, s.down
	review.Status.Allowed, review.Status.Denied = s.may[key], s.denied[key]
	s.mu.Unlock()
	if slow != nil {
		slow()
	}
	return review, down
}

// set changes the fake API server.
func (s *stage) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *stage) user(token, name string, groups ...string) {
	s.set(func() { s.users[token] = authenticationv1.UserInfo{Username: name, UID: "uid-" + name, Groups: groups} })
}

// request sends a request with headers, given as name and value in turn.
func (s *stage) request(method, target, body string, headers ...string) *http.Response {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, target, strings.NewReader(body))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "From" {
			r.RemoteAddr = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.front.ServeHTTP(w, r)
	return w.Result()
}

func (s *stage) get(target string, headers ...string) *http.Response {
	s.Helper()
	return s.request(http.MethodGet, target, "", headers...)
}

// signIn sends the form, and returns the cookie as a header.
func (s *stage) signsIn(token string, headers ...string) (cookie string, answer *http.Response) {
	s.Helper()
	answer = s.request(http.MethodPost, "/sign-in", url.Values{"token": {token}, "next": {"workload/shop/Deployment/web?tab=1"}}.Encode(), headers...)
	for _, c := range answer.Cookies() {
		cookie = c.Name + "=" + c.Value
	}
	return cookie, answer
}

// is fails the test unless the answer has the status and the text.
func (s *stage) is(answer *http.Response, status int, text string) {
	s.Helper()
	body := bodyOf(answer)
	if answer.StatusCode != status || !strings.Contains(body, text) {
		s.Errorf("got %d %s, want %d with %q", answer.StatusCode, body, status, text)
	}
}

func bodyOf(answer *http.Response) string {
	var body strings.Builder
	_ = answer.Write(&body)
	_, text, _ := strings.Cut(body.String(), "\r\n\r\n")
	return text
}

// eventually waits until it is so.
func (s *stage) eventually(what string, is func() bool) {
	s.Helper()
	for !is() {
		select {
		case <-s.Context().Done():
			s.Fatal("not " + what)
		case <-time.After(time.Millisecond):
		}
	}
}
