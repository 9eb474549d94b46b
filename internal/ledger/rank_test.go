package ledger

import "testing"

func TestALedgerIsOlderByReloadsThenByWrites(t *testing.T) {
	a, b := Ledger{Counter: 3, Writes: 9}, Ledger{Counter: 3, Writes: 10}
	if !a.olderThan(b) || b.olderThan(a) || a.olderThan(a) || !b.olderThan(Ledger{Counter: 4}) {
		t.Error("the order of ledgers is wrong")
	}
}
