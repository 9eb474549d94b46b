package reload

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Any client that may write to a workload can write its ledger. That affects no other workload, and
// loses no change for good.
func TestALedgerWithForgedNumbersKeepsNoChangeAway(t *testing.T) {
	for _, forged := range []string{
		`"n":9223372036854775807`, `"n":9223372036854775806`, `"n":1099511627776`, `"n":-1`,
		`"n":1,"w":9223372036854775807`, `"n":1,"w":-1`, `"n":1,"t":9223372036854775807`, `"n":1,"t":-9223372036854775808`,
		`"n":1,"t":253402300799`, `"n":1,"told":9223372036854775807`, `"n":1,"told":-1`,
	} {
		t.Run(forged, func(t *testing.T) {
			text := fmt.Sprintf(`{"v":1,"uid":"uid-1","key":%q,%s,"cm":{"cm":%q}}`, instance, forged, digestOf("a"))
			for reloads, content := range []string{"b", "c", "d"} {
				s := web().source(source.ConfigMap, "cm", content, 60, int64(200+reloads), SourceSeen{Content: uint64(200 + reloads), Edited: true})
				s.f.Workload.LedgerText, s.f.Remembered = text, text
				d := decided(t, s.f)
				if d.Action != Reload {
					t.Fatalf("change %d: %s, because %s", reloads+1, d.Action, d.Why)
				}
				if text = d.Ledger.String(); d.Ledger.Counter < 0 || d.Ledger.Writes < 0 {
					t.Fatalf("change %d writes %s", reloads+1, text)
				}
			}
			if _, err := ledger.Parse(text); err != nil {
				t.Errorf("after three reloads: %v", err)
			}
		})
	}
}

// Of these changes nobody knows more than the time. A ledger that claims to be from the future must
// not be newer than them.
func TestALedgerFromTheFutureHidesNoChange(t *testing.T) {
	const long = 600 // so many that one digest stands for all
	later := func(seconds int64) func(*Facts) {
		return func(f *Facts) {
			l, err := workload.ReadLedger(f.Workload.LedgerText, &f.Workload)
			if err != nil {
				t.Fatal(err)
			}
			l.DataTime, f.Now = at(1000).Unix()+seconds, at(1000)
			f.Workload.LedgerText = l.String()
		}
	}
	edited := func(kind source.Kind) *situation {
		return crowded(kind, instance, long).with(func(f *Facts) { f.Concerns = f.Concerns[:long-1] }).seventh("two", SourceSeen{Version: 150})
	}
	lost := func() *situation {
		return web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 80, SourceSeen{Version: 80})
	}
	const forged, ahead = 3600, 300 // the clock of the API server may be ahead of ours
	for about, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"its key was lost":                      {lost().with(later(forged)), ListPods},
		"its key was lost, the clocks differ":   {lost().with(later(ahead)), Record},
		"its key was lost, our clock is behind": {lost().with(later(forged)).with(func(f *Facts) { f.Concerns[0].Source.DataTime = at(1000 + forged) }), Record},
		"one digest for all":                    {edited(source.ConfigMap).with(later(forged)), ListPods},
		"one digest for all, the clocks differ": {edited(source.ConfigMap).with(later(ahead)), Record},
	} {
		t.Run(about, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if d = decided(t, tc.when.pods(1, 70).f); d.Action == Nothing || tc.want == ListPods && (d.Action != Reload || d.Ledger.DataTime > at(1000).Unix()) {
				t.Errorf("an older pod runs: %s, and the ledger has %d: %s", d.Action, d.Ledger.DataTime, d.Why)
			}
		})
	}
}

func TestARunWithANumberBeyondTheBoundIsNotNoted(t *testing.T) {
	f := web().f
	f.Workload.Runs = &workload.Runs{Own: []workload.OwnRun{{Name: "forged", UID: "u-2", Counter: ledger.MaxCounter + 1, LedgerText: ledger.Ledger{UID: "uid-1", Counter: 1}.String(), Held: true}}}
	f.Workload.LedgerText = ledger.Ledger{UID: "uid-1", Counter: 1}.String()
	if d := decided(t, f); d.Found || d.Ledger.Counter > 1 {
		t.Errorf("it follows: %+v", d)
	}
}

func TestASignatureIsOfOneKeyOnePurposeAndTheseTexts(t *testing.T) {
	key := func(of string) digest.Key {
		k, err := digest.NewKey([]byte(strings.Repeat(of, 32)))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	signature := key("a").Sign("copy", "ab", "c")
	if !key("a").HasSigned(signature, "copy", "ab", "c") || len(signature) != 32 {
		t.Errorf("the signature %q is not its own", signature)
	}
	for about, signed := range map[string]bool{
		"another key":     key("b").HasSigned(signature, "copy", "ab", "c"),
		"no key":          digest.Key{}.HasSigned(signature, "copy", "ab", "c"),
		"no key, nothing": digest.Key{}.HasSigned("", "copy", "ab", "c"),
		"another purpose": key("a").HasSigned(signature, "run", "ab", "c"),
		"texts that read the same one behind the other": key("a").HasSigned(signature, "copy", "a", "bc"),
		"a text more":  key("a").HasSigned(signature, "copy", "ab", "c", ""),
		"no signature": key("a").HasSigned("", "copy", "ab", "c"),
	} {
		if signed {
			t.Errorf("it is one for %s", about)
		}
	}
}
