package access

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestWrongTokensCostOthersNothing(t *testing.T) {
	s := newStage(t)
	s.user("good", "ada")
	s.user("late", "bob")
	cookie, _ := s.signsIn("good", "From", "10.0.0.1:1")
	refused := 0
	for i := range 3 * wrongBurst {
		_, answer := s.signsIn(fmt.Sprint("wrong", i), "From", fmt.Sprintf("10.0.0.66:%d", 1000+i))
		if answer.StatusCode == http.StatusTooManyRequests {
			refused++
			s.is(answer, 429, "Wait a minute")
			if answer.Header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
		}
	}
	if refused != 2*wrongBurst {
		t.Errorf("%d wrong tokens were refused", refused)
	}
	if asked := s.tokensAsked; asked > wrongBurst+1 {
		t.Errorf("the API server was asked %d times", asked)
	}
	s.is(s.get("/", "Cookie", cookie, "From", "10.0.0.66:1"), 200, "page of ada")
	if _, answer := s.signsIn("late", "From", "10.0.0.2:1"); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("another address: %s", answer.Status)
	}
	if _, answer := s.signsIn("good", "From", "10.0.0.66:1"); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("an accepted token from that address: %s", answer.Status)
	}
	s.clock.Step(time.Minute)
	s.user("later", "eve")
	if _, answer := s.signsIn("later", "From", "10.0.0.66:1"); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("after a minute: %s", answer.Status)
	}
}

func TestManyAddressesAreLimitedTogether(t *testing.T) {
	s := newStage(t)
	for i := range 3 * newBurst {
		s.signsIn(fmt.Sprint("wrong", i), "From", fmt.Sprintf("10.0.%d.%d:1", i/200, i%200))
	}
	if s.tokensAsked != newBurst {
		t.Errorf("the API server was asked %d times", s.tokensAsked)
	}
	for i := range 2 * addresses {
		s.attempts.failed(fmt.Sprintf("10.1.%d.%d:1", i/200, i%200))
	}
	if n := len(s.attempts.wrong); n > addresses {
		t.Errorf("%d addresses are remembered", n)
	}
}

func TestTheNetworkOfAnAddress(t *testing.T) {
	for address, want := range map[string]string{
		"10.1.2.3:55":            "10.1.2.3/32",
		"[::ffff:10.1.2.3]:55":   "10.1.2.3/32",
		"[2001:db8:1:2:3::4]:55": "2001:db8:1:2::/64",
		"nonsense":               "invalid Prefix",
	} {
		if got := network(address).String(); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}
