package gate

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// Override is when gates hold a reload no longer, because it replaces a certificate that expires.
// The zero Override is never.
type Override struct {
	// Source is the Secret whose previous certificate the Pods have, and Expires is when it does.
	Source source.Key
	At     time.Time
	// Expires is when the previous certificate expires.
	Expires time.Time
	// Gate is the gate that would hold the reload now, and Why is its reason, after the time. They
	// are empty if the reload may start anyway.
	Gate Name
	Why  string
}

// shareBefore and leastBefore are how long before the expiry of a certificate gates hold no longer:
// a tenth of its lifetime, but at least one hour, in seconds.
const (
	shareBefore = 10
	leastBefore = 60 * 60
)

// overrides returns the time from which gates hold no reload that replaces a certificate. It
// computes in seconds, because a lifetime of 300 years is no time.Duration.
func overrides(c source.Certificate) time.Time {
	before := max((c.NotAfter-c.NotBefore)/shareBefore, leastBefore)
	return time.Unix(max(c.NotAfter-before, 0), 0).UTC()
}

// overrideOf returns the earliest override of the changed Secrets.
func overrideOf(f *reload.Facts, d *reload.Decision) (first Override) {
	if len(d.Certificates) == 0 {
		return first
	}
	see := func(key source.Key) {
		previous, noted := d.Certificates[key.Name]
		if key.Kind != source.Secret || !noted {
			return
		}
		if at := overrides(previous); first.At.IsZero() || at.Before(first.At) {
			first = Override{Source: key, At: at, Expires: time.Unix(previous.NotAfter, 0).UTC()}
		}
	}
	for i := range d.Changes {
		if !d.Changes[i].Deleted {
			see(d.Changes[i].Source.Key)
		}
	}
	// If the ledger has one digest for all Secrets, a restart forgets which of them changed.
	for i := range f.Concerns {
		src := &f.Concerns[i].Source
		if d.Certificates[src.Key.Name] != src.Certificate {
			see(src.Key)
		}
	}
	return first
}

func (o *Override) passed(now time.Time) bool { return !o.At.IsZero() && !o.At.After(now) }

// notLater completes the reason of a closed gate.
func (o *Override) notLater() string {
	if o.At.IsZero() {
		return ""
	}
	return fmt.Sprintf("; it starts not later than %s, because the certificate of Secret %s that the Pods have expires at %s",
		o.At.Format(time.RFC3339), o.Source.Name, o.Expires.Format(time.RFC3339))
}
