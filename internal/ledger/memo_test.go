package ledger_test

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestAMemoReadsWhatParseReads(t *testing.T) {
	good := ledger.Ledger{UID: "u", Counter: 3, Entries: entriesOf(source.ConfigMap, 3, "config")}.String()
	long := ledger.Ledger{UID: "u", Entries: entriesOf(source.Secret, 200, "secret")}.String()
	var memo ledger.Memo
	for name, text := range map[string]string{"good": good, "long": long, "newer": `{"v":99}`, "garbage": "{", "empty": ""} {
		want, wantErr := ledger.Parse(text)
		for range 3 {
			got, err := memo.Parse(text)
			if diff := cmp.Diff(want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s: error %v, must be %v; (-want +got):\n%s", name, err, wantErr, diff)
			}
		}
	}
}

func TestAMemoReadsTheSameTextOnce(t *testing.T) {
	text := ledger.Ledger{UID: "u", Entries: entriesOf(source.ConfigMap, 5, "config")}.String()
	var memo ledger.Memo
	again := func() {
		if _, err := memo.Parse(text); err != nil {
			t.Fatal(err)
		}
	}
	again()
	if allocations := testing.AllocsPerRun(100, again); allocations > 0 {
		t.Errorf("%v allocations for a ledger that was read before, must be none", allocations)
	}
}

// Ledgers are texts that users can write: many of them, or long ones, must not fill the memory.
func TestAMemoForgets(t *testing.T) {
	text := func(n int) string {
		return ledger.Ledger{UID: "u", Counter: int64(n), Entries: entriesOf(source.ConfigMap, 20, "config")}.String()
	}
	var memo ledger.Memo
	entries := func(text string) uintptr {
		l, err := memo.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return reflect.ValueOf(l.Entries).Pointer()
	}
	const many = 1000
	first, last := entries(text(0)), uintptr(0)
	for n := range many {
		last = entries(text(n + 1))
	}
	if entries(text(many)) != last {
		t.Error("the last ledger was read again")
	}
	if entries(text(0)) == first {
		t.Errorf("%d ledgers later, the first is remembered", many)
	}
	long := text(0) + strings.Repeat(" ", 8<<10)
	if first := entries(long); first == entries(long) {
		t.Error("a long text is remembered")
	}
}

func TestLedgersOfAMemoAreNotChanged(t *testing.T) {
	l := ledger.Ledger{UID: "u", Entries: map[source.LocalKey]digest.Digest{localCA: {1}, foreignCA: {2}}, Gone: map[source.LocalKey]struct{}{foreignCA: {}}}
	text := l.String()
	var memo ledger.Memo
	unsigned, err := memo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	unsigned.DropUnsigned(key)
	if _, dropped := unsigned.Entries[foreignCA]; dropped || len(unsigned.Gone) > 0 {
		t.Fatalf("%v is not dropped", foreignCA)
	}
	again, err := memo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if again.String() != text {
		t.Errorf("another reader gets %s, must get %s", again, text)
	}
}

func TestAMemoIsReadByMany(t *testing.T) {
	var memo ledger.Memo
	var readers sync.WaitGroup
	for reader := range 8 {
		readers.Go(func() {
			for n := range 2000 {
				counter := int64((n + reader) % 700)
				l, err := memo.Parse(ledger.Ledger{UID: "u", Counter: counter, Entries: entriesOf(source.Secret, 10, "secret")}.String())
				if err != nil || l.Counter != counter {
					t.Errorf("counter %d, must be %d: %v", l.Counter, counter, err)
					return
				}
			}
		})
	}
	readers.Wait()
}
