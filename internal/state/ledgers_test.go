package state

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A controller that starts has the ledger of a workload before it reconciles it for the first time.
func TestARemovedLedgerIsRemembered(t *testing.T) {
	text := func(counter int64) string { l := ledger.Ledger{UID: "web", Counter: counter}; return l.String() }
	web := func(version int, ledger string) workload.Workload {
		w := deployment("web", "cm", version, annotations.Ledger, ledger)
		w.UID = "web"
		return w
	}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want string
	}{
		"the watch has shown it": {func(s *State) { s.PutWorkload(web(2, text(1)), live); s.PutWorkload(web(3, ""), live) }, text(1)},
		"a snapshot has shown it, and the next one lacks it": {func(s *State) {
			s.PutWorkload(web(2, text(1)), inASnap)
			s.PutWorkload(web(3, ""), inASnap)
		}, text(1)},
		"it is removed twice": {func(s *State) {
			for version := range 4 {
				s.PutWorkload(web(2+version, []string{text(1), ""}[version%2]), live)
			}
		}, text(1)},
		"it was accepted, and a later one is removed": {func(s *State) {
			w := web(2, text(2))
			s.PutWorkload(w, live)
			s.Remember(&w, text(2))
			s.PutWorkload(web(3, text(1)), live)
			s.PutWorkload(web(4, ""), live)
		}, text(2)},
		"it is still there": {func(s *State) { s.PutWorkload(web(2, text(1)), live) }, ""},
		"a rollback restores an earlier one": {func(s *State) {
			s.PutWorkload(web(2, text(2)), inASnap)
			s.PutWorkload(web(3, text(1)), live)
		}, text(2)},
		"it is replaced by nonsense": {func(s *State) {
			s.PutWorkload(web(2, text(2)), inASnap)
			s.PutWorkload(web(3, "nonsense"), live)
		}, text(2)},
		"another installation replaces it": {func(s *State) {
			s.PutWorkload(web(2, text(1)), live)
			s.PutWorkload(web(3, (&ledger.Ledger{UID: "web", Counter: 1, Instance: "another"}).String()), live)
		}, ""},
		"another one replaces it": {func(s *State) { s.PutWorkload(web(2, text(1)), live); s.PutWorkload(web(3, text(2)), live) }, ""},
		"it was no ledger":        {func(s *State) { s.PutWorkload(web(2, "nonsense"), live); s.PutWorkload(web(3, ""), live) }, ""},
		"it was of another object": {func(s *State) {
			other := web(2, text(1))
			other.UID = "another"
			s.PutWorkload(other, live)
			s.PutWorkload(web(3, ""), live)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			tc.puts(s)
			if f, _ := s.Facts(web(0, "").Key); f.Remembered != tc.want {
				t.Errorf("got %q, want %q", f.Remembered, tc.want)
			}
		})
	}
}

func TestARemovedLedgerIsNoComparison(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 2, annotations.Ledger, "theirs"), live)
	s.PutWorkload(deployment("web", "cm", 3), live)
	if f, _ := s.Facts(deployment("web", "cm", 0).Key); f.Seen.Compared {
		t.Error("it counts as compared")
	}
}

// What is known of a ledger that was written is what would be read from its text.
func TestTheRankOfAWrittenLedger(t *testing.T) {
	many := map[source.LocalKey]digest.Digest{}
	for i := range 1000 {
		many[source.LocalKey{Kind: source.ConfigMap, Name: fmt.Sprintf("config-%d", i)}] = digest.Digest{1}
	}
	other := (&ledger.Ledger{UID: "web", Counter: 9, Instance: "other"}).String()
	for name, tc := range map[string]struct {
		written ledger.Ledger
		// answer is the text of the response, if it is another one.
		answer string
	}{
		"few sources":                            {ledger.Ledger{UID: "web", Counter: 4, Writes: 7, Instance: "ours", Turn: ledger.Turn{At: 5}}, ""},
		"so many that it has one digest for all": {ledger.Ledger{UID: "web", Counter: 4, Entries: many}, ""},
		"the response has another":               {ledger.Ledger{UID: "web", Counter: 4}, other},
		"it is of another object":                {ledger.Ledger{UID: "another", Counter: 4}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			written, text := tc.written.BoundedText()
			web := func(version int, text string) workload.Workload {
				w := deployment("web", "cm", version, annotations.Ledger, text)
				w.UID = "web"
				return w
			}
			s.PutWorkload(web(2, ""), live)
			answer := web(3, cmp.Or(tc.answer, text))
			s.PutWritten(answer, &written, text)

			got := s.workloads[answer.Key]
			want := ranks{current: answer.LedgerRank(answer.LedgerText), remembered: answer.LedgerRank(text)}
			if got.ranks != want || got.remembered != text || got.ResourceVersion != "3" {
				t.Errorf("version %s has %+v, must be 3 with %+v", got.ResourceVersion, got.ranks, want)
			}
		})
	}
}
