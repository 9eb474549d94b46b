package inspect

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

// The ledger has one time for all sources: after a later change of another one, it does not show
// whether the write of this one changed a key that counts.
func TestAWriteThatIsOlderThanTheLedgerIsNotCalledIgnored(t *testing.T) {
	for _, later := range []bool{false, true} {
		s := read(t, "why-keys")
		for key, w := range s.objects.workloads {
			l, err := workload.ReadLedger(w.LedgerText, &w)
			if err != nil {
				t.Fatal(err)
			}
			if later {
				l.DataTime = noon.Unix()
			}
			w.LedgerText = l.String()
			s.objects.workloads[key] = w
		}
		x, err := s.objects.Explain("shop", "deployment/web", "configmap/app", s.running, noon)
		if err != nil {
			t.Fatal(err)
		}
		text := flat(x.Text(Paint{}))
		if strings.Contains(text, "Ignored: written 10m ago") == later || strings.Contains(text, "data from 10m ago, and no key that counts differs from the ledger") != later {
			t.Errorf("another source changed later %t:\n%s", later, text)
		}
	}
}
