package reload

import (
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Concern is a source that concerns a workload, with the reason.
type Concern struct {
	Source  source.Source
	Seen    SourceSeen
	Verdict policy.Verdict
	Away    Away
	// Deleted reports whether the source was deleted. Then only its name is known.
	Deleted bool
	// Uses are the places where the pod template references the source; none if only an annotation
	// names the source.
	Uses []workload.Use
	// Keys are the keys of the source that count; nil for all. Counted is their digest if not all
	// do, see Digest.
	Keys    *source.Keys
	Counted digest.Digest
	// Earlier is an earlier version of the source since which no key that counts has changed; nil
	// if none is known.
	Earlier *source.Source
}

// Count selects the keys of the source that count; nil for all.
func (c *Concern) Count(keys *source.Keys) {
	c.Keys, c.Counted = keys, digest.Digest{}
	if keys != nil {
		c.Counted = c.Source.DigestOf(keys)
	}
}

// Digest is the digest of the keys that count, which the ledger records.
func (c *Concern) Digest() digest.Digest {
	if c.Keys == nil {
		return c.Source.Digest
	}
	return c.Counted
}

// Assume lets the source have the data of a ledger, because it cannot be compared with it.
func (c *Concern) Assume(sum digest.Digest) {
	if c.Keys == nil {
		c.Source.Digest = sum
	} else {
		c.Counted = sum
	}
}
