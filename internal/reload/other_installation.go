package reload

import (
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// leftToOther leaves a workload to the installation that wrote its ledger. Otherwise two
// installations that watch the same namespace would both roll it for each change, and each would
// take the Secrets in the ledger of the other for unknown.
//
// Anyone who may write a ConfigMap or the workload can pretend to be another installation, and a
// real one may be gone. So Reroll waits for it only as long as Waited allows, and then reloads the
// workload itself.
func (f *Facts) leftToOther() (Decision, bool) {
	if len(f.Others) == 0 {
		return Decision{}, false
	}
	standing, err := workload.ReadLedger(f.Workload.LedgerText, &f.Workload)
	if err != nil || standing.Instance == f.Instance {
		return Decision{}, false
	}
	namespace, known := f.Others[standing.Instance]
	behind := known && f.isBehind(&standing)
	switch {
	case !known, behind && f.Waited:
		return Decision{}, false
	case behind:
		return Decision{Why: "the installation of Reroll in namespace " + namespace + " has to reload it", LeftTo: namespace, Behind: true}, true
	default:
		return Decision{Why: "the installation of Reroll in namespace " + namespace + " reloads it", LeftTo: namespace}, true
	}
}

// TakenOver reports whether an installation that this one does not know wrote the ledger after this
// one had. Both then roll the workload: neither watches the namespace of the other, so neither
// finds the ConfigMap of the other.
func (f *Facts) TakenOver() bool {
	if f.Remembered == "" || f.Remembered == f.Workload.LedgerText {
		return false
	}
	standing, err := workload.ReadLedger(f.Workload.LedgerText, &f.Workload)
	ours, oursErr := workload.ReadLedger(f.Remembered, &f.Workload)
	if err != nil || oursErr != nil || ours.Instance != f.Instance {
		return false
	}
	_, known := f.Others[standing.Instance]
	return !known && standing.TakenOverFrom(ours)
}

// isBehind reports whether the ledger of another installation lacks data that its workload uses
// now. The digests of Secrets cannot be compared without the key of that installation, so their
// times or the watch have to show it.
func (f *Facts) isBehind(standing *ledger.Ledger) bool {
	for _, kind := range source.Kinds() {
		if all, aggregated := standing.Aggregates[kind]; aggregated && !kind.Keyed() && !f.AllCurrent(kind, all) {
			return true
		}
	}
	for i := range f.Concerns {
		c := &f.Concerns[i]
		src := &c.Source
		recorded, known := standing.Entries[src.Key.Local()]
		_, aggregated := standing.Aggregates[src.Key.Kind]
		switch {
		case src.Key.IsForeign(): // the other installation may not watch its namespace
		case src.Key.Kind.Keyed() && (src.DataTime.Unix() > standing.DataTime || f.order(c) == outOfDate):
			return true
		case aggregated:
		case !known, !src.Key.Kind.Keyed() && f.isOtherData(c, recorded):
			return true
		}
	}
	return false
}
