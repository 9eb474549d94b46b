package access

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSignInAndOut(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada", "dev")
	s.is(s.get("/workload/shop/Deployment/web"), 401, "Sign in")

	cookie, answer := s.signsIn(" good\n", "Origin", "http://localhost:8080")
	s.is(answer, 303, "")
	if to := answer.Header.Get("Location"); to != "./workload/shop/Deployment/web?tab=1" {
		t.Errorf("sent to %q", to)
	}
	set := answer.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie lacks %s: %s", want, set)
		}
	}
	if strings.Contains(set, "Secure") || strings.Contains(set, "Path") || strings.Contains(set, "good") {
		t.Errorf("the cookie over HTTP is %s", set)
	}
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
	if s.lastAudiences != nil {
		t.Errorf("asked for the audiences %q, not for those of the API server", s.lastAudiences)
	}

	s.is(s.request("POST", "/sign-out", "", "Cookie", cookie), 303, "")
	s.is(s.get("/", "Cookie", cookie), 401, "Your session has ended")
	if len(s.readers.all) != 0 || len(s.readers.sessions) != 0 {
		t.Errorf("kept %d tokens and %d sessions", len(s.readers.all), len(s.readers.sessions))
	}
	if strings.Contains(s.log.String(), "good") {
		t.Errorf("the log has the token: %s", s.log.String())
	}
}

func TestAForgedTokenIsNotAccepted(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	for _, token := range []string{forged + "good", "unknown", "goo", "goodd"} {
		s.is(s.get("/", "Authorization", "Bearer "+token), 401, "does not accept the token")
		_, answer := s.signsIn(token)
		s.is(answer, 401, "does not accept that token")
		if len(answer.Cookies()) > 0 {
			t.Errorf("%s got a session", token)
		}
	}
	for _, secret := range []string{"", "good", "x"} {
		s.is(s.get("/", "Cookie", cookieName+"="+secret), 401, "Sign in")
	}
}

func TestACookieOverHTTPSIsSecure(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	if _, answer := s.signsIn("good", "Origin", "https://reroll.example.com"); !strings.Contains(answer.Header.Get("Set-Cookie"), "Secure") {
		t.Errorf("the cookie is %s", answer.Header.Get("Set-Cookie"))
	}
}

func TestATokenInAHeaderCountsMoreThanACookie(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	s.user("other", "bob")
	cookie, _ := s.signsIn("good")
	s.is(s.get("/", "Cookie", cookie, "Authorization", "bearer other"), 200, "page of bob")
	s.is(s.get("/", "Cookie", cookie, "Authorization", "Bearer wrong"), 401, "header Authorization")
	s.is(s.get("/", "Cookie", cookie, "Authorization", "Basic b3RoZXI="), 401, "header Authorization")
	before := s.tokensAsked
	s.is(s.get("/", "Authorization", "Bearer other"), 200, "page of bob")
	if s.tokensAsked != before {
		t.Error("an accepted token was reviewed again within the same minute")
	}
}

func TestWhatIsNoTokenIsNotReviewed(t *testing.T) {
	s := newStage(t)
	for _, text := range []string{"", "two words", "Zoë", "first line\nsecond", strings.Repeat("x", tokenBytes+1)} {
		_, answer := s.signsIn(text)
		s.is(answer, 401, "That is not a token")
	}
	if s.tokensAsked != 0 {
		t.Errorf("%d reviews", s.tokensAsked)
	}
	s.is(s.request("POST", "/sign-in", "token="+strings.Repeat("x", formBytes)), 413, "longer than a token")
	s.is(s.request("POST", "/sign-in", "token=%zz"), 400, "incomplete")
}

func TestARevokedTokenEndsItsSessionsWithinAMinute(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	cookie, _ := s.signsIn("good")
	live := make(chan error, 1)
	begun := make(chan struct{})
	page := s.pages
	s.pages = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/live" {
			page(w, r)
			return
		}
		close(begun)
		<-r.Context().Done()
		live <- r.Context().Err()
	}
	go s.get("/live", "Cookie", cookie)
	<-begun
	s.set(func() { delete(s.users, "good") })
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
	s.clock.Step(reviewEvery)
	s.is(s.get("/", "Cookie", cookie), 401, "Sign in")
	if t.Failed() {
		return // the live updates would go on for ever
	}
	if err := <-live; err == nil {
		t.Error("live updates continue")
	}
}

// Nothing but the stream is requested, so only the timer reviews the token.
func TestARevokedTokenEndsItsStream(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	begun, ended := make(chan struct{}), make(chan struct{})
	s.pages = func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}
	go s.get("/live", "Authorization", "Bearer good")
	<-begun
	s.set(func() { delete(s.users, "good") })
	s.clock.Step(reviewEvery)
	<-ended
}

func TestWithoutAnAnswerASessionWaits(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	cookie, _ := s.signsIn("good")
	s.set(func() { s.down = errors.New("etcd is slow") })
	s.clock.Step(reviewEvery)
	s.is(s.get("/", "Cookie", cookie), 503, "did not say whether your token is still valid")
	if strings.Contains(s.log.String(), "good") || !strings.Contains(s.log.String(), "etcd is slow TOKEN") {
		t.Errorf("the log is %s", s.log.String())
	}
	s.set(func() { s.down = nil })
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
}

func TestSessionsEnd(t *testing.T) {
	for name, pass := range map[string]func(s *stage, cookie string){
		"an hour after the last request": func(s *stage, _ string) { s.clock.Step(sessionIdle) },
		"twelve hours after their start": func(s *stage, cookie string) {
			for range 12 * 60 / 30 {
				s.get("/", "Cookie", cookie)
				s.clock.Step(30 * time.Minute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.user("good", "ada")
			cookie, _ := s.signsIn("good")
			s.clock.Step(sessionIdle - time.Second)
			s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
			pass(s, cookie)
			s.is(s.get("/", "Cookie", cookie), 401, "Your session has ended")
			s.eventually("nothing is kept", func() bool {
				s.clock.Step(reviewEvery)
				s.readers.mu.Lock()
				defer s.readers.mu.Unlock()
				return len(s.readers.all)+len(s.readers.sessions) == 0 && !s.readers.tending && !s.clock.HasWaiters()
			})
		})
	}
}

func TestReadersAreBounded(t *testing.T) {
	s := newStage(t)
	s.user("mine", "ada")
	cookie, _ := s.signsIn("mine")
	for i := range 2 * identitiesOfOne {
		token := "minted-" + strconv.Itoa(i)
		s.user(token, "mallory")
		s.clock.Step(time.Second / 2)
		s.is(s.get("/", "Authorization", "Bearer "+token), 200, "page of mallory")
	}
	if n := len(s.readers.all); n != identitiesOfOne+1 {
		t.Errorf("%d tokens are kept", n)
	}
	for range 2 * sessionsOfOne {
		if _, answer := s.signsIn("minted-" + strconv.Itoa(2*identitiesOfOne-1)); answer.StatusCode != http.StatusSeeOther {
			t.Fatal(answer.Status)
		}
	}
	if n := len(s.readers.sessions); n != sessionsOfOne+1 {
		t.Errorf("%d sessions are kept", n)
	}
	for i := range identitiesOfAll + 10 {
		token := "token-" + strconv.Itoa(i)
		s.user(token, token)
		s.clock.Step(time.Second / 10)
		s.get("/", "Cookie", cookie)
		s.is(s.get("/", "Authorization", "Bearer "+token), 200, "page of token-")
	}
	if n := len(s.readers.all); n != identitiesOfAll {
		t.Errorf("%d tokens are kept", n)
	}
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
}

func TestRequestsOfOneReaderAreBounded(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	s.user("other", "bob")
	begun, end := make(chan struct{}), make(chan struct{})
	page := s.pages
	s.pages = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/live" {
			begun <- struct{}{}
			<-end
		}
		page(w, r)
	}
	for range requestsAtOnce {
		go s.get("/live", "Authorization", "Bearer good")
		<-begun
	}
	s.is(s.get("/", "Authorization", "Bearer good"), 429, "Close some of them")
	s.is(s.get("/", "Authorization", "Bearer other"), 200, "page of bob")
	close(end)
}

// A tenant who may create ServiceAccounts in a namespace has any number of users. Ada uses her
// session least of all.
func TestATenantSignsOutNobodyElse(t *testing.T) {
	s := newStage(t)
	s.user("mine", "ada")
	s.user("of-another", "system:serviceaccount:bank:viewer")
	cookie, _ := s.signsIn("mine")
	other, _ := s.signsIn("of-another")
	for i := range identitiesOfAll + 100 {
		token := "minted-" + strconv.Itoa(i)
		s.user(token, "system:serviceaccount:shop:account-"+strconv.Itoa(i))
		s.clock.Step(time.Second / newPerSecond)
		if _, answer := s.signsIn(token); answer.StatusCode != http.StatusSeeOther {
			t.Fatal(answer.Status)
		}
	}
	if n := len(s.readers.all); n != identitiesOfAll {
		t.Errorf("%d tokens are kept", n)
	}
	s.is(s.get("/", "Cookie", cookie), 200, "page of ada")
	s.is(s.get("/", "Cookie", other), 200, "page of system:serviceaccount:bank:viewer")
}
