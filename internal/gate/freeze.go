package gate

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
)

// What sets a freeze, for users.
const (
	byNamespace = annotations.Freeze + " on the namespace"
	byAll       = annotations.Freeze + " on ConfigMap reloader-meta-info"
)

// Frozen is a freeze that is in force, with what sets it.
type Frozen struct {
	annotations.Frozen
	// All reports whether it is for all namespaces.
	All bool
	// Err is why its text cannot be read. Then no time ends it.
	Err error
}

// FrozenBy reads the text of a freeze. It returns false if there is none, or if it is over.
func FrozenBy(text string, all bool, now time.Time) (Frozen, bool) {
	if text == "" {
		return Frozen{}, false
	}
	f := Frozen{All: all}
	f.Frozen, f.Err = annotations.ParseFreeze(text)
	return f, f.Err != nil || f.Until.After(now)
}

func (f *Frozen) setBy() string {
	if f.All {
		return byAll
	}
	return byNamespace
}

// Why describes the freeze in a clause.
func (f *Frozen) Why() string {
	if f.Err != nil {
		return f.setBy() + " cannot be read: " + f.Err.Error()
	}
	return fmt.Sprintf("%s (%s)", f.Says(), f.setBy())
}

// Thaw is the command that ends the freeze.
func (f *Frozen) Thaw(namespace string) string {
	if f.All {
		return "reroll thaw -A"
	}
	return "reroll thaw -n " + namespace
}

// Describe describes the freeze, and when it ends.
func (f *Frozen) Describe(reader *time.Location) string {
	if f.Err != nil {
		return f.Why() + ", so no reload starts"
	}
	a := Answer{By: Freeze, Until: f.Until}
	return f.Why() + ", until " + a.When(reader)
}

// FreezesOf returns the freezes of a workload that are in force.
func FreezesOf(f *reload.Facts) []Frozen {
	var all []Frozen
	if frozen, is := FrozenBy(f.Freeze, true, f.Now); is {
		all = append(all, frozen)
	}
	if frozen, is := FrozenBy(f.Defaults.Waves().Freeze, false, f.Now); is {
		all = append(all, frozen)
	}
	return all
}

// checkFreeze answers with the freeze that ends last. An urgent change passes it: a rotated
// password must not lock users out until an incident is over.
func checkFreeze(f *reload.Facts, d *reload.Decision) Answer {
	all := FreezesOf(f)
	if len(all) == 0 || isUrgent(d) {
		return Answer{}
	}
	last := &all[0]
	for i := range all {
		if last.Err == nil && (all[i].Err != nil || all[i].Until.After(last.Until)) {
			last = &all[i]
		}
	}
	return Answer{By: Freeze, Until: last.Until, Why: last.Why()}
}
