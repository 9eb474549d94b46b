package reload

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// tally counts the findings about the sources of one workload.
type tally struct {
	changes, reverted                     []Concern
	needsPods, waiting, recorded, dropped int
	undecided                             int
	unproven                              []source.Key
	// gone are the deleted sources without which the Pods run, or will run.
	gone []source.LocalKey
	// departed are the digests that Pods have of sources that were deleted before a ledger recorded
	// them, and departedTime is their newest data time.
	departed     map[source.LocalKey]digest.Digest
	departedTime int64
	// noted reports whether the deletions in the ledger have to be updated.
	noted bool
	// reselected reports whether the ledger has to show that other sources may be selected.
	reselected bool
	// disowned reports whether a held run must not start any more.
	disowned bool
	// uncertified reports whether the certificates in the ledger have to be updated.
	uncertified bool
}

// add counts a finding. The comparison may have changed the concern.
func (t *tally) add(c *Concern, found finding) {
	switch found {
	case changed:
		t.changes = append(t.changes, *c)
	case needsPods:
		t.needsPods++
	case waiting:
		t.waiting++
	case reverted:
		t.reverted = append(t.reverted, *c)
	case recorded:
		t.recorded++
	case undecided:
		t.recorded++
		t.undecided++
	case unproven:
		t.recorded++
		t.unproven = append(t.unproven, c.Source.Key)
	case same:
	}
}

// records reports whether a ledger would differ from the present one.
func (t *tally) records() bool {
	return t.recorded > 0 || t.dropped > 0 || t.noted || t.reselected || t.disowned || t.uncertified
}

func (t *tally) recordSentence(base base) string {
	switch {
	case base.restore:
		return "another client removed or reverted its ledger; Reroll writes it back"
	case base.err != nil:
		return base.err.Error() + "; its Pods use the current data"
	case t.recorded > 0:
		return fmt.Sprintf("its Pods use the current data of %d of its sources, which is not in its ledger yet", t.recorded)
	case t.disowned:
		return "it is opted out, so a Job that was created for it must not start"
	case t.uncertified && t.dropped == 0 && !t.noted:
		return "its ledger does not show yet when its certificates expire"
	case t.reselected && t.dropped == 0 && !t.noted:
		return "its ledger does not show yet which labels it selects"
	case t.dropped == 0:
		return "the missing sources are not recorded in its ledger yet"
	default:
		return fmt.Sprintf("%d sources in its ledger no longer concern it", t.dropped)
	}
}

func changedSentence(changes []Concern) string {
	last := changes[len(changes)-1].Source.Key
	if len(changes) == 1 {
		return last.String() + " changed"
	}
	if len(changes) == 2 {
		return last.String() + " and 1 more source changed"
	}
	return fmt.Sprintf("%s and %d more sources changed", last, len(changes)-1)
}

// laterLast orders by resource version if both are known, and by time otherwise.
func laterLast(a, b Concern) int {
	if a.Seen.Content != 0 && b.Seen.Content != 0 {
		if a.Seen.Content < b.Seen.Content {
			return -1
		}
		return 1
	}
	return a.Source.DataTime.Compare(b.Source.DataTime)
}
