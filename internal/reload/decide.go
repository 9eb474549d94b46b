package reload

import (
	"errors"
	"fmt"
	"slices"
)

// Concern is a source that concerns a workload, with the reason.
type Concern struct {
	Source  Source
	Verdict Verdict
	// Uses are the places where the pod template refers to the source; none
	// for a source that the workload only names.
	Uses []Use
}

// Facts are all that a decision is made from.
type Facts struct {
	Workload Workload
	// Concerns are the sources that exist and concern the workload, sorted.
	Concerns []Concern
	// Instance is the ID of the DigestKey behind the digests of Secrets.
	Instance string
}

// Action is what a decision leads to.
type Action uint8

const (
	// Nothing is to be written.
	Nothing Action = iota
	// Record writes the ledger and leaves the pod template alone.
	Record
	// Reload changes the pod template and writes the ledger, in one step.
	Reload
)

// String returns the action as one word.
func (a Action) String() string {
	switch a {
	case Record:
		return "record"
	case Reload:
		return "reload"
	default:
		return "nothing"
	}
}

// Decision is what follows from the facts, with the reason.
type Decision struct {
	Action Action
	// Why is one sentence in the user's words.
	Why string
	// Changes are the sources for whose content the workload is reloaded, the
	// one that changed last at the end.
	Changes []Concern
	// Ledger is what is to be written, if anything is.
	Ledger Ledger
}

// Decide compares the content of the sources now with the content that the pods
// were last rolled with. It does not matter which event led to the question, or
// how many were missed before.
func Decide(f Facts) Decision {
	known, err := knownLedger(&f.Workload)
	switch {
	case errors.Is(err, ErrNewerFormat):
		return Decision{Why: err.Error() + "; it is left alone"}
	case len(f.Concerns) == 0 && f.Workload.LedgerText == "":
		return Decision{Why: "no source concerns it"}
	case err != nil:
		return Decision{Action: Record, Why: err.Error() + "; the present content counts as the one its pods have", Ledger: f.ledger(Ledger{})}
	}

	var changes []Concern
	added := 0
	for _, kind := range sourceKinds() {
		concerns := f.of(kind)
		if all, ok := known.Aggregates[kind]; ok {
			if Aggregate(kind, entriesOf(concerns)) != all {
				changes = append(changes, newest(concerns)...)
			}
			continue
		}
		for _, c := range concerns {
			digest, ok := known.Entries[c.Source.Key.Local()]
			switch {
			case !ok, kind == Secret && known.Instance != f.Instance:
				added++
			case digest != c.Source.Digest:
				changes = append(changes, c)
			}
		}
	}
	slices.SortStableFunc(changes, func(a, b Concern) int { return a.Source.DataTime.Compare(b.Source.DataTime) })

	next := f.ledger(known)
	switch {
	case len(changes) > 0:
		next.Counter++
		return Decision{Action: Reload, Why: changedSentence(changes), Changes: changes, Ledger: next}
	case added > 0:
		return Decision{Action: Record, Why: fmt.Sprintf("%d of its sources are new to it; their content counts as the one its pods have", added), Ledger: next}
	default:
		return Decision{Why: "its sources have the content that its pods were last rolled with"}
	}
}

func changedSentence(changes []Concern) string {
	last := changes[len(changes)-1].Source.Key
	if len(changes) == 1 {
		return last.String() + " changed"
	}
	return fmt.Sprintf("%s and %d more sources changed", last, len(changes)-1)
}

// errNoLedger and the others say why nothing is known of what the pods have.
const (
	errNoLedger    = ledgerError("it has no ledger yet")
	errOtherObject = ledgerError("its ledger was copied from another object")
)

func knownLedger(w *Workload) (Ledger, error) {
	if w.LedgerText == "" {
		return Ledger{}, errNoLedger
	}
	known, err := ParseLedger(w.LedgerText)
	if err == nil && known.UID != w.UID {
		return Ledger{}, errOtherObject
	}
	return known, err
}

// ledger is the one for the present content. Entries of sources that are gone
// stay as long as the workload refers to them: one that comes back with other
// content is a change.
func (f *Facts) ledger(known Ledger) Ledger {
	next := Ledger{UID: f.Workload.UID, Instance: f.Instance, Counter: known.Counter, Entries: map[LocalKey]Digest{}}
	for key, digest := range known.Entries {
		if key.Kind == Secret && known.Instance != f.Instance {
			continue
		}
		if _, refers := f.Workload.Reference(key); refers {
			next.Entries[key] = digest
		}
	}
	for _, c := range f.Concerns {
		next.Entries[c.Source.Key.Local()] = c.Source.Digest
	}
	return next
}

func (f *Facts) of(kind SourceKind) []Concern {
	var concerns []Concern
	for _, c := range f.Concerns {
		if c.Source.Key.Kind == kind {
			concerns = append(concerns, c)
		}
	}
	return concerns
}

func entriesOf(concerns []Concern) map[LocalKey]Digest {
	entries := make(map[LocalKey]Digest, len(concerns))
	for _, c := range concerns {
		entries[c.Source.Key.Local()] = c.Source.Digest
	}
	return entries
}

// newest stands in for the change that an aggregate does not name.
func newest(concerns []Concern) []Concern {
	if len(concerns) == 0 {
		return nil
	}
	return []Concern{slices.MaxFunc(concerns, func(a, b Concern) int {
		return a.Source.DataTime.Compare(b.Source.DataTime)
	})}
}
