package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
)

// Frozen is a freeze that is in force in a namespace, or in all if the namespace is empty.
type Frozen struct {
	Namespace string
	gate.Frozen
}

// frozen returns the freezes in a namespace, or in all that were read if it is empty.
func (o *Objects) frozen(ns string, now time.Time) []Frozen {
	var all []Frozen
	for name, known := range o.allNamespaces() {
		if f, is := gate.FrozenBy(known.Defaults.Waves().Freeze, false, now); is && (ns == "" || ns == name) && o.settings.leftOut(o, name) == "" {
			all = append(all, Frozen{name, f})
		}
	}
	slices.SortFunc(all, func(a, b Frozen) int { return strings.Compare(a.Namespace, b.Namespace) })
	if f, is := gate.FrozenBy(o.settings.Freeze, true, now); is {
		all = slices.Insert(all, 0, Frozen{"", f})
	}
	return all
}

// mostFrozen is the largest number of namespaces that are named.
const mostFrozen = 5

// freezes prints what is frozen, before all else.
func (s *Status) freezes(p *pageText) {
	for i := range s.Frozen[:min(len(s.Frozen), mostFrozen)] {
		f := &s.Frozen[i]
		where := "namespace " + f.Namespace
		if f.All {
			where = "all namespaces"
		}
		p.paragraph(oneLine(fmt.Sprintf("Frozen, %s: %s. To end it: %s", where, f.Describe(s.Now.Location()), f.Thaw(f.Namespace))))
	}
	if more := len(s.Frozen) - mostFrozen; more > 0 {
		p.paragraph(fmt.Sprintf("Frozen: %s more.", counted(int64(more), "namespace")))
	}
	if len(s.Frozen) > 0 {
		p.gap()
	}
}

// frozenJSON is a freeze in the output for programs.
type frozenJSON struct {
	// Namespace is empty for all namespaces.
	Namespace string     `json:"namespace,omitempty"`
	Until     *time.Time `json:"until,omitempty"`
	By        string     `json:"by,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Error     string     `json:"error,omitempty"`
}

func frozenAsJSON(all []Frozen) []frozenJSON {
	var out []frozenJSON
	for i := range all {
		f := &all[i]
		one := frozenJSON{Namespace: f.Namespace, Until: timeOf(f.Until), By: f.By, Reason: f.Reason}
		if f.Err != nil {
			one.Error = f.Err.Error()
		}
		out = append(out, one)
	}
	return out
}

// nextThaw returns when a workload whose reload waits for the end of a freeze is rolled.
func (x *Explanation) nextThaw() string {
	urgent := "to roll it now, set " + annotations.Urgent + ": \"true\" on the changed source"
	if x.Gate.Until.IsZero() {
		return "nothing, until the annotation " + annotations.Freeze + " is corrected or removed; " + urgent
	}
	return "Reroll rolls it with the newest data at " + x.Gate.When(x.Now.Location()) + ", or when a user ends the freeze; " + urgent
}

// Doubt returns why no controller is known to run, or empty if one may.
func (s *Settings) Doubt(now time.Time) string {
	if s.Assumed != "" || s.life(now) == lifeEnded {
		return s.lack(now)
	}
	return ""
}
