package state

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/ledger"
)

// worstLedgers are the texts that take longest to read, of those that are read at all: 64 KiB each.
func worstLedgers() map[string]func(n int) string {
	const most = 64 << 10
	fill := func(n int, begin, each, end string) string {
		head := fmt.Sprintf(`{"v":1,"uid":"web","n":%d,`, n) + begin
		var text strings.Builder
		text.WriteString(head)
		for i := 0; text.Len() < most-100; i++ {
			if i > 0 {
				text.WriteByte(',')
			}
			fmt.Fprintf(&text, each, i)
		}
		return text.String() + end
	}
	return map[string]func(n int) string{
		"entries": func(n int) string { return fill(n, `"cm":{`, `"%x":"00000000000000000000000000000000"`, "}}") },
		"gone":    func(n int) string { return fill(n, `"gone":{"cm":[`, `"%x"`, "]}}") },
		"unknown": func(n int) string { return fill(n, `"x":[`, `{"%x":1}`, "]}") },
	}
}

// What users write as a ledger must not keep everybody else waiting while it is read.
func TestLedgersAreReadWithoutTheLock(t *testing.T) {
	for name, of := range worstLedgers() {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			texts := []string{of(7), of(8)}
			w := deployment("web", "cm", 1)
			for version := range 3 { // what stands there, and what is remembered, are such texts too
				w = deployment("web", "cm", version+1)
				w.LedgerText = texts[version%2]
				s.PutWorkload(w, live)
				s.Remember(&w, w.LedgerText)
			}
			revision, again := w.Revision(), w
			again.LedgerText, again.ResourceVersion = texts[1], "4"
			rank := s.rankOf(&again, again.LedgerText)
			if allocations := testing.AllocsPerRun(5, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.putWorkload(again, revision, rank, live)
				s.putWorkload(w, revision, rank, !live)
			}); allocations > 50 {
				t.Errorf("what happens under the lock takes %.0f allocations", allocations)
			}
		})
	}
}

// BenchmarkWorstLedgers is how long an event of a workload takes whose ledger somebody changes each
// time.
func BenchmarkWorstLedgers(b *testing.B) {
	for name, of := range worstLedgers() {
		b.Run(name, func(b *testing.B) {
			s, version := New(false), 0
			texts := []string{of(7), of(8)}
			for _, text := range texts {
				if _, err := ledger.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				version++
				w := deployment("web", "cm", version)
				w.UID, w.LedgerText = "web", texts[version%2]
				s.Remember(&w, texts[0])
				s.PutWorkload(w, live)
			}
		})
	}
}
