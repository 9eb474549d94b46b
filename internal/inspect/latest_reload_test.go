package inspect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// withLedger writes a ledger with more reloads, the latest of this time, and returns what the view knows
// then.
func withLedger(t *testing.T, o *Objects, v *View, key workload.Key, more, at int64) []Latest {
	t.Helper()
	w, _ := o.workload(key)
	known, err := workload.ReadLedger(w.LedgerText, &w)
	if err != nil {
		t.Fatal(err)
	}
	known.Counter += more
	known.Turn.At = at
	w.LedgerText, w.ResourceVersion = known.String(), w.ResourceVersion+"9"
	o.live.putWorkload(w, true)
	v.Refresh(context.Background())
	return latestOf(v)
}

func latestOf(v *View) []Latest {
	var scopes []*Scope
	for i := range v.Board().Scopes {
		scopes = append(scopes, &v.Board().Scopes[i])
	}
	return LatestOf(scopes)
}

func TestLedgersDateReloads(t *testing.T) {
	s := read(t, "status-mixed")
	o := followed(s, rand.New(rand.NewPCG(1, 1)))
	v := viewOf(s, o)
	var key workload.Key
	for k, sum := range v.summaries {
		if sum.State == UpToDate && sum.Reloads >= 0 {
			key = k
		}
	}
	find := func(all []Latest) (at time.Time) {
		for _, one := range all {
			if one.Key == key {
				at = one.At
			}
		}
		return at
	}
	minuteAgo := noon.Add(-time.Minute)
	for _, step := range []struct {
		about    string
		more, at int64
		want     time.Time
	}{
		{"a reload of the ledger", 1, minuteAgo.Unix(), minuteAgo},
		{"a reload that the process has seen", 1, 0, noon},
		{"the same reload", 0, 0, noon},
		{"a time of the future", 1, noon.Add(24 * time.Hour).Unix(), time.Time{}},
		{"a clock that is ahead", 1, noon.Add(clocksDiffer).Unix(), noon.Add(clocksDiffer)},
	} {
		if got := find(withLedger(t, o, v, key, step.more, step.at)); !got.Equal(step.want) {
			t.Errorf("%s: %s, want %s", step.about, got, step.want)
		}
	}
	delete(v.summaries, key) // as after a restart
	if got := find(withLedger(t, o, v, key, 0, minuteAgo.Unix())); !got.Equal(minuteAgo) {
		t.Errorf("after a restart: %s", got)
	}
}

func TestTheLatestReloadsOfAScope(t *testing.T) {
	var shop, bank Scope
	for i := range 3 * mostLatest {
		at := noon.Add(time.Duration(i*7%(3*mostLatest)) * time.Second)
		shop.note(&Summary{Key: workload.Key{Name: fmt.Sprint("web-", i)}, Reloads: 1, Began: at})
		bank.note(&Summary{Key: workload.Key{Name: fmt.Sprint("vault-", i)}, Reloads: 1, Began: at.Add(time.Millisecond)})
	}
	shop.note(&Summary{Key: workload.Key{Name: "never"}, Began: noon.Add(time.Hour)})
	shop.note(&Summary{Key: workload.Key{Name: "undated"}, Reloads: 5})
	for name, of := range map[string][]Latest{"one": shop.Latest, "all": LatestOf([]*Scope{&shop, &bank})} {
		if len(of) != mostLatest {
			t.Fatalf("%s: %d reloads", name, len(of))
		}
		for i := range of[1:] {
			if of[i].At.Before(of[i+1].At) {
				t.Errorf("%s: %s is before %s", name, of[i].At, of[i+1].At)
			}
		}
	}
	if first := LatestOf([]*Scope{&shop, &bank})[0]; first.At != noon.Add((3*mostLatest-1)*time.Second+time.Millisecond) {
		t.Errorf("the first is of %s", first.At)
	}
}
