package ledger

import (
	"strings"
	"sync"
)

// Memo remembers the ledgers that were read last. All that happens to a workload reads its ledger,
// mostly the same text within a few milliseconds. The zero Memo is empty, and safe for concurrent
// use. A nil Memo remembers nothing.
type Memo struct {
	mu sync.Mutex
	// recent becomes earlier when it is full, and what is in neither is forgotten.
	recent, earlier map[string]parsed
	// length is that of the texts in recent.
	length int
}

type parsed struct {
	text   string
	ledger Ledger
	err    error
}

const (
	// memoLength bounds the texts of each half of a Memo: those of 700 workloads with a few sources.
	memoLength = 256 << 10
	// memoText is the longest text that is remembered. A ledger of ten sources has 500 bytes.
	memoText = 4 << 10
)

// Parse is like the function Parse, but the maps and slices of the result must not be changed.
func (m *Memo) Parse(text string) (Ledger, error) {
	if m == nil || len(text) > memoText {
		return Parse(text)
	}
	if known, ok := m.find(text); ok {
		return known.ledger, known.err
	}
	l, err := Parse(text)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(parsed{strings.Clone(text), l, err}) // the text may be a part of a larger one
	return l, err
}

func (m *Memo) find(text string) (parsed, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.recent[text]
	if !ok {
		if known, ok = m.earlier[text]; ok {
			m.put(known)
		}
	}
	return known, ok
}

// put remembers a text. The caller holds the lock.
func (m *Memo) put(p parsed) {
	if m.recent == nil || m.length+len(p.text) > memoLength {
		m.recent, m.earlier, m.length = map[string]parsed{}, m.recent, 0
	}
	if _, known := m.recent[p.text]; !known {
		m.recent[p.text] = p
		m.length += len(p.text)
	}
}
