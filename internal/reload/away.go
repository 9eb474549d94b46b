package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Away is when a source changed after the workload was last compared with it. The earlier data may
// be back since.
type Away struct {
	// Version is the first version that may have had other data; 0 if there was none.
	Version uint64
	// Time is the data time of that version, zero if the API server recorded none.
	Time time.Time
	// Noted reports whether the data time of the current data is when it came back.
	Noted bool
	// Before is the digest of the earlier data, zero if it is unknown or does not count as a whole.
	Before digest.Digest
	// Late reports whether the ledger that the workload was compared with is from after the first
	// change, because the watches are independent.
	Late bool
	// Made reports whether the source did not exist for a while, and Version is the version of its
	// creation, or an earlier one if no watch has shown that. The source was not away as long as its
	// data is the data that it was created with.
	Made bool
}

// wasAway reports whether the source may have had other data than now since the workload was
// compared with it.
func (c *Concern) wasAway() bool {
	return c.Away.Version != 0 && (!c.Away.Made || c.Seen.Content != c.Away.Version)
}

// wasAwayBefore reports whether the source may have had other data already before Version: the data
// of then is not that of the ledger, to which the present data is equal. The ledger is that of a
// write that took effect late, or of another replica. If that replica has seen the only change, it has
// compared the workload with the present data.
func (c *Concern) wasAwayBefore() bool {
	if c.Away.Late && (c.Seen.Content == c.Away.Version || c.Seen.Content == 0) {
		return false
	}
	if c.Keys == nil && !c.Away.Before.IsZero() {
		return c.Away.Before != c.Source.Digest
	}
	return c.Away.Version == c.Seen.Content
}

// recreatedAsCompared reports whether a source was created again with the data of the last comparison, and
// has it since. A snapshot shows no version of a later edit, but its time. That of a union shows nothing:
// its return moves it, and bundles may be older.
func (f *Facts) recreatedAsCompared(c *Concern) bool {
	editedUnseen := c.Seen.Content == 0 && c.Seen.latest() > c.Seen.Created && edited(c)
	return c.Seen.Created > c.Seen.Content && !editedUnseen && f.Seen.Compared && !c.wasAway()
}

// seenEarlier is for a workload that arrives with a ledger only after its sources have changed, since
// watches are independent: a Job that Reroll makes again has the ledger of the decision. So if the latest
// change is later than its Pods, the source was away, and nothing else recorded that.
func (f *Facts) seenEarlier(c *Concern) *Concern {
	if f.Seen.Compared || c.wasAway() || f.Seen.Template == 0 || order(c, f.rollouts()) != outOfDate || c.waitedFor(f.Seen.Template) {
		return c
	}
	away := *c
	away.Away = Away{Version: f.Seen.Template + 1, Noted: !c.Seen.Timeless}
	return &away
}

// waitedFor reports whether a source did not exist when Pods were created that could not start without it.
// They have started with the data with which it was created.
func (c *Concern) waitedFor(created uint64) bool {
	absent := max(c.Seen.Departed, c.Seen.Absent)
	return workload.Required(c.Uses) && absent != 0 && absent <= created && c.Seen.Content == c.Seen.Created
}
