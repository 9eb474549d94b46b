package ledger

import (
	"strings"
	"testing"
)

func TestAnOversizedLedgerIsNotRead(t *testing.T) {
	forged := `{"v":1,"uid":"uid-1","n":1,"cm":{` + strings.Repeat(`"a":"00",`, maxLedgerRead/9) + `"b":"00"}}`
	if _, err := Parse(forged); err == nil || !strings.Contains(err.Error(), "must have at most 65536") {
		t.Errorf("error %v, must say how long it may be", err)
	}
}
