package report

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestTenAtOnceAreTenMessagesAndElevenAreOne(t *testing.T) {
	for n, messages := range map[int]int{1: 1, 2: 2, 10: 10, 11: 1, 300: 1} {
		s := connect(t, nil)
		s.reload(n)
		s.run().told(n)
		letters := s.far.got()
		if len(letters) != messages {
			t.Fatalf("%d reloads are %d messages, want %d", n, len(letters), messages)
		}
		list := strings.HasPrefix(letters[0].text, strconv.Itoa(n)+" alerts in one message:\n\n- Reloader detected changes in greeting of type CONFIGMAP in namespace shop. Hence reloaded web-0000 ")
		if list != (messages == 1 && n > 1) || len(letters[0].text) > 4096 {
			t.Errorf("%d reloads: %s", n, letters[0].text)
		}
		if n == 11 && strings.Count(letters[0].text, "\n- Reloader detected changes in ") != 11 {
			t.Errorf("not all are on the list:\n%s", letters[0].text)
		}
		if listed := strings.Count(letters[0].text, "\n- Reloader"); n == 300 && !strings.HasSuffix(letters[0].text, fmt.Sprintf("\n- and %d more", 300-listed)) {
			t.Errorf("%d are listed, and then: %s", listed, letters[0].text[len(letters[0].text)-40:])
		}
	}
}

func TestAlertsInQuickSuccessionAreOneMessage(t *testing.T) {
	s := connect(t, nil).run()
	for range 5 {
		s.reload(20)
		s.until("somebody to wait", s.clock.HasWaiters)
		s.clock.Step(collectPause / 2)
	}
	s.told(100)
	if got := len(s.far.got()); got != 1 {
		t.Errorf("%d messages", got)
	}
}

func TestAReceiverNeverGetsMoreThanTenInAMinute(t *testing.T) {
	for about, answer := range map[string]func(int, http.ResponseWriter, *http.Request){
		"one that works": nil,
		"one that fails now and then": func(n int, w http.ResponseWriter, _ *http.Request) {
			if n%3 == 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := connect(t, answer).run()
			const reloads = 90
			for range reloads {
				s.reload(1)
				before := s.clock.Now()
				s.until("two seconds to pass", func() bool {
					if s.clock.Since(before) < 2*time.Second && !s.clock.HasWaiters() && s.alerts.count() == 0 {
						s.clock.Step(time.Second) // nothing is on its way
					}
					return s.clock.Since(before) >= 2*time.Second
				})
			}
			s.told(reloads)
			letters := s.far.got()
			for i := perMinute; i < len(letters); i++ {
				if apart := letters[i].at.Sub(letters[i-perMinute].at); apart < time.Minute {
					t.Fatalf("eleven messages within %s", apart)
				}
			}
			if len(letters) < 15 {
				t.Errorf("only %d messages in three minutes: nobody asked for so few", len(letters))
			}
			if s.dropped() != 0 {
				t.Errorf("%v were dropped", s.dropped())
			}
		})
	}
}

func TestWhatWaitsForAReceiverIsBoundedAndStillCounted(t *testing.T) {
	s := connect(t, nil)
	s.reload(maxWaiting + 234)
	if got := len(s.alerts.waiting); got != maxWaiting {
		t.Errorf("%d texts wait", got)
	}
	s.run().told(maxWaiting + 234)
	if letters := s.far.got(); len(letters) != 1 || !strings.HasPrefix(letters[0].text, "1234 alerts in one message:") {
		t.Errorf("got %v", letters)
	}
}

func TestWhatWaitsAtTheEndIsSent(t *testing.T) {
	for n, messages := range map[int]int{3: 3, 30: 1} {
		s := connect(t, nil)
		s.reload(n)
		s.run().stop()
		<-s.ended // no time passes
		if got := len(s.far.got()); got != messages || s.sent() != float64(n) {
			t.Errorf("%d reloads are %d messages, and %v are told", n, got, s.sent())
		}
	}
}

func TestAtStopTheRateLimitDoesNotApply(t *testing.T) {
	s := connect(t, nil).run()
	s.reload(10)
	s.told(10)
	now := s.clock.Now()
	s.reload(2)
	s.stop()
	<-s.ended
	if got := len(s.far.got()); got != 11 || s.sent() != 12 {
		t.Errorf("%d messages, and %v are told", got, s.sent())
	}
	if passed := s.clock.Since(now); passed > 0 {
		t.Errorf("it took %s", passed)
	}
}

func TestTheEndTriesOnceMoreAndDropsTheRest(t *testing.T) {
	s := connect(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s.reload(1)
	s.run()
	s.until("the delay after the first try", func() bool { return s.failures() == 1 && s.clock.HasWaiters() })
	s.stop()
	<-s.ended
	if got := len(s.far.got()); got != 2 || s.dropped() != 1 || s.sent() != 0 {
		t.Errorf("%d tries, %v dropped, %v sent", got, s.dropped(), s.sent())
	}
	if lines := s.alertLines(); len(lines) != 2 || !strings.Contains(lines[1], "level=INFO") || !strings.Contains(lines[1], "dropped=1") {
		t.Errorf("the log says %q", lines)
	}
}

func TestWhichAlertsAreFailures(t *testing.T) {
	s := connect(t, nil, func(o *AlertOptions) { o.Sink = "slack" })
	revert := func(action reload.Action) {
		s.Reverted(web(), reload.Decision{Action: action, Reverted: &reload.Revert{
			Source: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "greeting"}, Writer: "helm", Old: 2, All: 3,
		}})
	}
	revert(reload.Reload)
	revert(reload.Record)
	revert(reload.Nothing)
	s.Rolled(web(), rollout.Outcome{All: 3}, 0)
	s.run().told(2)
	want := `{"attachments":[{"author_name":"Reloader","color":"warning","text":"Reloader rolled *web* of type *Deployment* in namespace *shop* again: the field manager \"helm\" removed the mark, and 2 of 3 Pods still used the previous ConfigMap *greeting*"}]}`
	if letters := s.far.got(); len(letters) != 2 || letters[0].text != want {
		t.Errorf("got %v", letters)
	}
	want = `{"attachments":[{"author_name":"Reloader","color":"warning","text":"Reloader did not roll *web* of type *Deployment* in namespace *shop*: the field manager \"helm\" removed every mark, and 2 of 3 Pods still use the previous ConfigMap *greeting*"}]}`
	if letters := s.far.got(); len(letters) != 2 || letters[1].text != want {
		t.Errorf("got %v", letters)
	}

	s.NotRolled(web(), rollout.Outcome{Cause: rollout.CauseReadiness, Changed: cfg(), Old: 2, All: 3, Pod: "web-7d", New: true})
	s.told(3)
	want = `{"attachments":[{"author_name":"Reloader","color":"warning","text":"Reloader did not roll *web* of type *Deployment* in namespace *shop*: 2 of 3 Pods still use the previous ConfigMap 'cfg': the new Pod web-7d is running but not ready. See https://github.com/reroll-dev/reroll/blob/main/docs/how-to/stuck-rollouts.md#readiness"}]}`
	if letters := s.far.got(); len(letters) != 3 || letters[2].text != want {
		t.Errorf("got %v", letters)
	}

	// In a list it comes before the part that may be cut off.
	many := message{unlisted: 1000}
	for range 100 {
		many.alerts = append(many.alerts, alert{text: ours(strings.Repeat("fine ", 20))})
	}
	many.alerts = append(many.alerts, alert{text: ours("not rolled"), failed: true})
	if text, failed := many.text(escapeSlack); !failed || !regexp.MustCompile(`^1101 alerts in one message:\n\n- not rolled\n- fine .*`).MatchString(text) {
		t.Errorf("%v: %s", failed, text)
	}
}

func TestADryRunSendsNoAlert(t *testing.T) {
	s := connect(t, nil)
	s.dryRun = true
	s.reload(1)
	s.Reverted(web(), reload.Decision{Action: reload.Nothing, Reverted: &reload.Revert{}})
	if got := s.alerts.count(); got != 0 {
		t.Errorf("%d wait to be sent", got)
	}
}

func TestWithoutAlertsNothingIsSent(t *testing.T) {
	d := newDesk(t, false)
	if d.alerts != nil {
		t.Fatal("there are alerts")
	}
	d.Reloaded(web(), reloadFor("greeting"), 0)
	d.alerts.Run(nil) // returns
}
