package reload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func testKey(of string) digest.Key {
	key, err := digest.NewKey([]byte(strings.Repeat(of, 32)))
	if err != nil {
		panic(err)
	}
	return key
}

// tenant draws what a user of namespace shop can write to learn what exists in namespace infra.
type tenant struct {
	*rand.Rand
}

func (r tenant) oneIn(n int) bool { return r.IntN(n) == 0 }

func (r tenant) sum() digest.Digest {
	if r.oneIn(3) {
		return digest.Digest{}
	}
	return digestOf([]string{"one", "two"}[r.IntN(2)])
}

// forged is a ledger with signatures that the user may have: none, of another workload, or of other
// sources.
func (r tenant) forged(f *Facts) ledger.Ledger {
	keys := []source.LocalKey{cmKey, {Kind: source.Secret, Name: "sec"}, foreignKey, {Kind: source.Secret, Name: "infra/ca"}, {Kind: source.ConfigMap, Name: "infra/other"}}
	l := ledger.Ledger{UID: f.Workload.UID, Instance: f.Instance, Counter: int64(r.IntN(5)), Writes: int64(r.IntN(5)), DataTime: int64(r.IntN(200)), OnDelete: !r.oneIn(3), Entries: map[source.LocalKey]digest.Digest{}}
	for _, key := range keys {
		if !r.oneIn(3) {
			l.Entries[key] = r.sum()
		}
		if r.oneIn(3) {
			if l.Gone == nil {
				l.Gone = map[source.LocalKey]struct{}{}
			}
			l.Gone[key] = struct{}{}
		}
	}
	other := l
	switch r.IntN(4) {
	case 0:
		l.Consented = strings.Repeat("0", 32)
	case 1:
		other.UID = "uid-2"
		other.SignForeign(f.Key)
		l.Consented = other.Consented
	case 2:
		other.Entries = map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "infra/allowed"}: {1}}
		other.SignForeign(f.Key)
		l.Consented = other.Consented
	}
	if r.oneIn(5) {
		l.Instance = "key-0"
	}
	if r.oneIn(8) {
		l.UID = "uid-2"
	}
	if r.oneIn(2) {
		l.Selecting = f.selecting()
	}
	if r.oneIn(5) {
		l.Entries = nil
		l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Count: 1}}
	}
	return l
}

// facts are of a workload that names a ConfigMap of namespace infra.
func (r tenant) facts() *Facts {
	s := web()
	f := &s.f
	lists := []string{"infra/ca", "infra/ca,cm", "cm,infra/ca,.*", "infra/ca,[^x]*,infra.ca", "infra/ca,infra[^x]ca"}
	list := lists[r.IntN(len(lists))]
	set := map[string]string{annotations.DefaultNames().ConfigMap: list, annotations.DefaultNames().Secret: list}
	if r.oneIn(3) {
		set[annotations.Sources] = "plugins=grafana"
	}
	if r.oneIn(3) {
		set[annotations.DefaultNames().Auto] = "true"
	}
	f.Workload.Policy, _ = policy.Parse(set, nil, annotations.DefaultNames())
	f.Key = testKey("k")
	f.Instance = f.Key.ID()
	f.OnCreate, f.OnDelete, f.Selective, f.Waited = r.oneIn(2), !r.oneIn(3), r.oneIn(3), r.oneIn(2)
	f.Seen.Compared, f.Seen.Template, f.Seen.TemplateReverted = r.oneIn(2), uint64(r.IntN(200)), r.oneIn(4)
	f.Workload.RolledOut = r.oneIn(2)
	if r.oneIn(4) {
		f.Others = map[string]string{"key-0": "elsewhere"}
	}
	if !r.oneIn(4) {
		s.source(source.ConfigMap, "cm", []string{"one", "two"}[r.IntN(2)], 10, int64(r.IntN(200)), SourceSeen{Content: uint64(r.IntN(200)), Edited: r.oneIn(2), Version: 60})
	}
	if r.oneIn(2) {
		s.pods(1, int64(r.IntN(200)))
	}
	f.Workload.LedgerText = r.forged(f).String()
	switch r.IntN(3) {
	case 0:
		f.Remembered = f.Workload.LedgerText
	case 1:
		f.Remembered = r.forged(f).String()
	}
	return f
}

// exists lets some of the sources exist, or have existed, without consent.
func (r tenant) exists(f *Facts) {
	for _, kind := range []source.Kind{source.ConfigMap, source.Secret} {
		key := source.LocalKey{Kind: kind, Name: "infra/ca"}
		src := source.Source{Key: key.In("shop"), Annotations: source.Annotations{AllowFrom: allows([]string{"bank", "shop-2"}[r.IntN(2)]), Match: r.oneIn(2)}, DataTime: at(int64(r.IntN(200))), Digest: r.sum()}
		seen := SourceSeen{Content: uint64(r.IntN(200)), Version: uint64(r.IntN(200)), Created: uint64(r.IntN(200))}
		switch r.IntN(3) {
		case 0:
			f.Spare(&src, seen)
			f.Version = max(f.Version, seen.Version)
		case 1:
			f.Gone = map[source.LocalKey]Departure{key: {Version: uint64(1 + r.IntN(200)), Source: src, Seen: seen}}
		}
	}
}

// shown is all that a user can see of a decision.
func shown(f Facts) string {
	f.Conceal()
	d := Decide(f)
	var changes []string
	for i := range d.Changes {
		changes = append(changes, d.Changes[i].Source.Key.String())
	}
	waits, _ := f.Defer(&d, true)
	return fmt.Sprintf("%s\n%s\n%v\n%s\n%v\n%v\n%v\n%s\n%v\n%t", d.Action, d.Why, changes, d.Ledger, d.Unproven, d.OthersRollout, f.Missing(), waits.Ledger, f.Unmatched(), f.IsDeferred()) +
		fmt.Sprint(f.NotAllowed(func(source.Key) bool { return false }))
}

func TestNoLedgerShowsWhetherAForeignSourceExists(t *testing.T) {
	rolled, written := 0, 0
	for seed := range uint64(3000) {
		absent, present := tenant{rand.New(rand.NewPCG(seed, 28))}, tenant{rand.New(rand.NewPCG(seed, 28))}
		without, with := absent.facts(), present.facts()
		present.exists(with)
		none, some := shown(*without), shown(*with)
		if none != some {
			t.Fatalf("seed %d, ledger %s, remembered %s\n(-does not exist +exists):\n%s", seed, with.Workload.LedgerText, with.Remembered, cmp.Diff(none, some))
		}
		switch Decide(*without).Action {
		case Reload:
			rolled++
		case Record:
			written++
		}
	}
	if rolled < 300 || written < 300 {
		t.Errorf("%d reloads and %d writes: the ledgers show little", rolled, written)
	}
}
