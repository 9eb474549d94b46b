package reload

import (
	"testing"
)

// decided is Decide. Each reload that a test expects also has to be decided if a gate delays it, in
// the same controller and by the ledger alone.
func decided(t *testing.T, f Facts) Decision {
	t.Helper()
	d := Decide(f)
	if d.Action != Reload || d.Found {
		return d
	}
	held, needed := f.Defer(&d, false)
	if !needed {
		return d
	}
	waits := f
	waits.Workload.LedgerText, waits.Remembered = held.Ledger.String(), held.Ledger.String()
	waits.Seen.ComparedAt, waits.Seen.Adopted, waits.Seen.Compared = f.Version, max(f.Seen.Adopted, f.Adopts()), true
	waits.Seen.Earlier, waits.Seen.Widened = nil, nil
	waits.Concerns = nil
	for _, c := range f.Concerns {
		c.Away = Away{}
		waits.Concerns = append(waits.Concerns, c)
	}
	waits.Pods = nil
	later := Decide(waits)
	if later.Action == ListPods {
		waits.Pods = f.Pods
		if waits.Pods == nil {
			waits.Pods = &Pods{}
			waits.Pods.Add(StartedPod{Created: at(1)})
		}
		later = Decide(waits)
	}
	if later.Action != Reload {
		t.Errorf("%q, and after a gate delayed that: %s, %q", d.Why, later.Action, later.Why)
	}
	return d
}
