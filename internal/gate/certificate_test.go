package gate

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

const lastSecond = 253402300799 // of the year 9999

// The oracle computes with numbers of any size.
func TestNoGateHoldsFromATenthOfTheLifetimeOnAndForAtLeastOneHour(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	spans := []int64{1, 60, 3600, 10 * 3600, 90 * 86400, 400 * 365 * 86400, lastSecond}
	for range 200_000 {
		c := source.Certificate{NotBefore: random.Int64N(spans[random.IntN(len(spans))]), NotAfter: random.Int64N(spans[random.IntN(len(spans))] + 1)}
		lifetime := new(big.Int).Sub(big.NewInt(c.NotAfter), big.NewInt(c.NotBefore))
		before := new(big.Int).Quo(lifetime, big.NewInt(10))
		if hour := big.NewInt(3600); before.Cmp(hour) < 0 {
			before = hour
		}
		want := new(big.Int).Sub(big.NewInt(c.NotAfter), before)
		if want.Sign() < 0 {
			want = big.NewInt(0)
		}
		if got := overrides(c).Unix(); got != want.Int64() {
			t.Fatalf("%+v: %d, want %s", c, got, want)
		}
	}
}

// certified is a reload of a Secret that waits for a window, and whose Pods have a certificate.
func certified(c source.Certificate) (*reload.Facts, *reload.Decision) {
	f := &reload.Facts{Now: noon, Settings: reload.Settings{Window: nights}}
	web := source.Source{Key: source.Key{Kind: source.Secret, Namespace: "shop", Name: "web"}}
	return f, &reload.Decision{Action: reload.Reload, Changes: []reload.Concern{{Source: web}}, Certificates: map[string]source.Certificate{"web": c}}
}

// ending is a certificate of 90 days.
func ending(at time.Time) source.Certificate {
	return source.Certificate{NotBefore: at.AddDate(0, 0, -90).Unix(), NotAfter: at.Unix()}
}

func TestACertificateThatExpiresWaitsForNoGateButTheLimit(t *testing.T) {
	soon := ending(noon.AddDate(0, 0, 9))
	halted := Others{Halt: func(workload.Key) Answer { return Answer{By: Halted, Why: "halted"} }}
	limit, _ := policy.ParseLimit("1/1h")
	for about, tc := range map[string]struct {
		edit func(*reload.Facts, *reload.Decision)
		halt bool
		by   Name
		// passes is the gate that is closed.
		passes Name
	}{
		"a window":                 {func(*reload.Facts, *reload.Decision) {}, false, "", Window},
		"a bad window":             {func(f *reload.Facts, _ *reload.Decision) { f.Window = "at night" }, false, "", Window},
		"a freeze":                 {func(f *reload.Facts, _ *reload.Decision) { f.Freeze = "x" }, false, "", Freeze},
		"a halt":                   {func(f *reload.Facts, _ *reload.Decision) { f.Window = "" }, true, "", Halted},
		"nothing":                  {func(f *reload.Facts, _ *reload.Decision) { f.Window = "" }, false, "", ""},
		"the limit":                {func(f *reload.Facts, d *reload.Decision) { f.Limit, d.ChurnUntil = limit, noon.Unix()+600 }, false, Churn, ""},
		"an hour earlier":          {func(f *reload.Facts, _ *reload.Decision) { f.Now = noon.Add(-time.Second) }, false, Window, ""},
		"another one expires":      {func(_ *reload.Facts, d *reload.Decision) { d.Changes[0].Source.Key.Name = "other" }, false, Window, ""},
		"a ConfigMap of that name": {func(_ *reload.Facts, d *reload.Decision) { d.Changes[0].Source.Key.Kind = source.ConfigMap }, false, Window, ""},
		"it is deleted":            {func(_ *reload.Facts, d *reload.Decision) { d.Changes[0].Deleted = true }, false, Window, ""},
		"an urgent one": {func(_ *reload.Facts, d *reload.Decision) {
			d.Changes[0].Source.Annotations.Waves = annotations.Waves{Urgent: true}.Keep()
		}, true, "", ""},
		"one of all Secrets": {func(f *reload.Facts, d *reload.Decision) {
			f.Concerns = []reload.Concern{d.Changes[0]}
			d.Changes = []reload.Concern{{Source: source.Source{Key: source.Key{Kind: source.Secret, Namespace: "shop", Name: "other"}}}}
		}, false, "", Window},
	} {
		f, d := certified(soon)
		tc.edit(f, d)
		others := Others{}
		if tc.halt {
			others = halted
		}
		a := Check(f, d, others)
		if a.By != tc.by || a.Open() && a.Override.Gate != tc.passes {
			t.Errorf("%s: %+v", about, a)
		}
	}
}

func TestAClosedGateSaysWhenACertificateOpensIt(t *testing.T) {
	f, d := certified(ending(noon.AddDate(0, 0, 10)))
	d.Certificates["other"] = ending(noon.AddDate(0, 0, 1))
	a := Check(f, d, Others{})
	const want = "; it starts not later than 2026-03-02T12:00:00Z, because the certificate of Secret web that the Pods have expires at 2026-03-11T12:00:00Z"
	if a.By != Window || !strings.HasSuffix(a.Why, want) {
		t.Errorf("%+v", a)
	}
	if d.Certificates = nil; strings.Contains(Check(f, d, Others{}).Why, "certificate") {
		t.Error("it speaks of a certificate without one")
	}
	d.Certificates = map[string]source.Certificate{"web": {NotBefore: 0, NotAfter: lastSecond}}
	if a := Check(f, d, Others{}); a.Open() || a.Override.At.Year() < 9000 {
		t.Errorf("no well-defined end: %+v", a)
	}
}

// The reload takes no place, so it changes nothing for the others.
func TestACertificateThatExpiresPassesWaves(t *testing.T) {
	f, d := certified(ending(noon))
	f.Window, f.Workload.Key = "", keyOf("later")
	fleet := NewFleet(&d.Changes[0].Source, Settings{})
	fleet.Put(keyOf("first"), Member{})
	fleet.Put(keyOf("later"), Member{Wave: 1})
	others := Others{Find: func(*reload.Concern) *Fleet { return fleet }}
	if a := Check(f, d, others); !a.Open() || a.Override.Gate != Waves || a.Override.Why != "for wave 0 of Secret shop/web: 1 waiting" {
		t.Errorf("%+v", a)
	}
	Pass(f, d, others)
	if m := fleet.members[keyOf("later")]; m.reserved || m.asked {
		t.Errorf("it has a place in its fleet: %+v", m)
	}
	f.Now = noon.AddDate(0, 0, -30)
	if a := Check(f, d, others); a.By != Waves || a.Override.At.IsZero() {
		t.Errorf("earlier: %+v", a)
	}
}
