package gate

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// limited is a workload with a limit, as the controller reconciles it again and again. Only the
// ledger is kept in between.
type limited struct {
	*testing.T
	facts  reload.Facts
	ledger int64
}

func withLimit(t *testing.T, text string) *limited {
	t.Helper()
	limit, err := policy.ParseLimit(text)
	if err != nil {
		t.Fatal(err)
	}
	return &limited{T: t, facts: reload.Facts{Now: noon, Settings: reload.Settings{Limit: limit}}}
}

// try reloads the workload if the gate is open, and returns the answer of the gate.
func (l *limited) try() Answer {
	d := reload.Decision{Action: reload.Reload, ChurnUntil: l.ledger}
	answer := Check(&l.facts, &d, Others{})
	if answer.Open() {
		Pass(&l.facts, &d, Others{})
		l.ledger = d.Ledger.ChurnUntil
	}
	return answer
}

func (l *limited) pass(d time.Duration) { l.facts.Now = l.facts.Now.Add(d) }

func TestAsManyReloadsAsTheLimitAllowsStartAtOnceAndTheNextOneWaits(t *testing.T) {
	l := withLimit(t, "30/1h")
	for i := range 30 {
		if answer := l.try(); !answer.Open() {
			t.Fatalf("reload %d: %+v", i+1, answer)
		}
	}
	answer := l.try()
	if answer.By != Churn || !answer.Until.Equal(noon.Add(2*time.Minute)) {
		t.Fatalf("reload 31: %+v", answer)
	}
	if want := "it was reloaded as often as 30/1h (--churn) allows"; answer.Why != want {
		t.Errorf("it says %q, want %q", answer.Why, want)
	}
	l.pass(2*time.Minute - time.Millisecond)
	if l.try().Open() {
		t.Error("it opens too early")
	}
	l.pass(time.Millisecond)
	if !l.try().Open() {
		t.Error("it does not open when it says")
	}
	if l.try().Open() {
		t.Error("it opens for two reloads")
	}
}

func TestAWorkloadThatRestsMayBeReloadedAsOftenAgain(t *testing.T) {
	l := withLimit(t, "3/30m")
	for range 3 {
		l.try()
	}
	l.pass(30 * time.Minute)
	for i := range 3 {
		if !l.try().Open() {
			t.Errorf("reload %d waits", i+1)
		}
	}
}

func TestNoLimitLeavesNothingInTheLedger(t *testing.T) {
	l := withLimit(t, "off")
	l.ledger = noon.Add(time.Hour).Unix()
	for i := range 100 {
		if !l.try().Open() {
			t.Fatalf("reload %d waits", i+1)
		}
	}
	if l.ledger != 0 {
		t.Errorf("the ledger has %d", l.ledger)
	}
}

func TestALedgerThatTheLimitCannotLeadToDelaysNothing(t *testing.T) {
	for about, ledger := range map[string]int64{
		"the end of the year 9999": 253402300799,
		"a higher limit before":    noon.Add(100 * time.Hour).Unix(),
		"nothing":                  0,
		"the past":                 noon.Add(-time.Hour).Unix(),
		"a negative number":        -1,
	} {
		l := withLimit(t, "30/1h")
		l.ledger = ledger
		if answer := l.try(); !answer.Open() {
			t.Errorf("%s: %+v", about, answer)
		}
		if until := noon.Add(2 * time.Minute).Unix(); l.ledger != until {
			t.Errorf("%s: afterwards the reloads count until %d, want %d", about, l.ledger, until)
		}
	}
}

// Whatever another client writes, what waits starts at the time that the gate says.
func TestWhateverTheLedgerSaysTheGateOpensWhenItSays(t *testing.T) {
	for ledger := noon.Add(-time.Hour); ledger.Before(noon.Add(3 * time.Hour)); ledger = ledger.Add(7 * time.Second) {
		l := withLimit(t, "30/1h")
		l.ledger = ledger.Unix()
		answer := l.try()
		if answer.Open() {
			continue
		}
		if answer.Until.After(noon.Add(4 * time.Minute)) {
			t.Fatalf("with %s it waits until %s", ledger, answer.Until)
		}
		l.facts.Now = answer.Until
		if again := l.try(); !again.Open() {
			t.Fatalf("with %s it said %s, and then %s", ledger, answer.Until, again.Until)
		}
	}
}

func TestTheMostSpecificLimitCounts(t *testing.T) {
	names := annotations.DefaultNames()
	for about, tc := range map[string]struct {
		own, template, namespace, want string
	}{
		"the flag":               {"", "", "", "1/1h (--churn)"},
		"the namespace":          {"", "", "2/1h", "2/1h (reroll.dev/churn on the namespace)"},
		"the pod template":       {"", "3/1h", "2/1h", "3/1h (reroll.dev/churn on the pod template)"},
		"the workload":           {"4/1h", "3/1h", "2/1h", "4/1h (reroll.dev/churn on the workload)"},
		"an invalid one is none": {"often", "3/1h", "2/1h", "2/1h (reroll.dev/churn on the namespace)"},
		"off":                    {"off", "", "2/1h", "off (reroll.dev/churn on the workload)"},
	} {
		written := func(text string) map[string]string {
			if text == "" {
				return nil
			}
			return map[string]string{annotations.Churn: text}
		}
		f := reload.Facts{Settings: reload.Settings{Limit: policy.Limit{Reloads: 1, Within: time.Hour}}, Workload: workload.Workload{}}
		f.Workload.Policy, _ = policy.Parse(written(tc.own), written(tc.template), names)
		f.Defaults, _ = policy.ParseNamespace(written(tc.namespace), annotations.DefaultNames())
		limit, setBy := f.Churn()
		if got := fmt.Sprintf("%s (%s)", limit, setBy); got != tc.want {
			t.Errorf("%s: %s, want %s", about, got, tc.want)
		}
	}
}

// Whatever the limit, and whenever changes come: in no window of its time are there more than twice
// as many reloads as it allows, over a long time there are no more than it allows, and what waits
// starts when the gate says.
func TestWhateverComesTheLimitHolds(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		reloads := 1 + random.Int64N(40)
		within := time.Duration(reloads)*time.Second + time.Duration(random.Int64N(int64(2*time.Hour)))
		l := withLimit(t, "off")
		l.facts.Limit = policy.Limit{Reloads: reloads, Within: within}
		var at []time.Time
		for range 500 {
			l.pass(time.Duration(random.Int64N(int64(2 * within / time.Duration(reloads)))))
			answer := l.try()
			if !answer.Open() && random.IntN(3) > 0 {
				l.facts.Now = answer.Until
				if answer = l.try(); !answer.Open() {
					t.Fatalf("seed %d: it said %s, and waits then", seed, answer.Until)
				}
			}
			if answer.Open() {
				at = append(at, l.facts.Now)
			}
		}
		for i := range at {
			j := i
			for j < len(at) && at[j].Sub(at[i]) < within {
				j++
			}
			if int64(j-i) > 2*reloads {
				t.Fatalf("seed %d: %d reloads in %s, allowed are %d", seed, j-i, within, reloads)
			}
		}
		if spent := at[len(at)-1].Sub(at[0]); spent < time.Duration(int64(len(at))-reloads)*(within/time.Duration(reloads)) {
			t.Fatalf("seed %d: %d reloads in %s", seed, len(at), spent)
		}
	}
}
