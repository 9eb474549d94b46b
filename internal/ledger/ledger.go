// Package ledger reads and writes the annotation that records the data with which the Pods of a
// workload last started: its format, its bounds, and the order of two ledgers. It does not decide
// anything.
package ledger

import (
	"crypto/sha256"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// errNoLedger and the others are reasons why the data of the Pods is unknown.
const (
	ErrNone        = ledgerError("it has no ledger yet")
	ErrOtherObject = ledgerError("its ledger was copied from another object")
)

// Format is the version of the text of a ledger and of its digests: increase it together with
// digest.Format.
const Format = 1

// maxLedgerText keeps the ledger to a small part of the 256 KiB that all annotations of an object
// may have.
const maxLedgerText = 16 << 10

// MaxCounter bounds the counters in a ledger. One reload each millisecond reaches it after 35
// years. Without a bound, a forged number could be at the end of its range, so that adding to it
// would overflow.
const MaxCounter = 1 << 40

// MaxSuperseded bounds the superseded templates in a ledger.
const MaxSuperseded = 8

// MaxCertificates bounds the certificates in a ledger, and MaxCertificateNames the length of all of
// their names, so that there is room for the longest names of sources in other namespaces.
const (
	MaxCertificates     = 16
	MaxCertificateNames = 2048
)

// maxName is the longest name of a Secret.
const maxName = 253

// maxLedgerRead bounds the text that is parsed as a ledger, because other clients can write it. A
// newer version may write more than this one.
const maxLedgerRead = 4 * maxLedgerText

// ErrNewerFormat is the error of Parse, by errors.Is, if a newer version wrote the ledger. Such a
// ledger must not be overwritten.
const ErrNewerFormat = ledgerError("ledger was written by a newer version")

type ledgerError string

// Error returns the message.
func (e ledgerError) Error() string { return string(e) }

// Ledger is the data that a workload was last rolled with, in an annotation of the workload. It has
// many fields because the annotation is all that a controller knows about the time before its start.
type Ledger struct {
	// UID is the UID of the workload. Another UID means that the annotation was copied.
	UID types.UID
	// Instance is the ID of the digest.Key for the digests of Secrets.
	Instance string
	// Counter grows by one with each reload.
	Counter int64
	// DataTime is the newest data time of its sources, in seconds since 1970. If data differs from
	// its entry and is no newer than that, the API server recorded no time for the change.
	DataTime int64
	// Marks is the digest of the marks after the latest reload: Pods of a template with these marks
	// were started after it. It is zero if nothing follows from the marks any more.
	Marks digest.Digest
	// Superseded are the revisions of the pod template that a rollout of another client was
	// replacing when its data was recorded. Pods of such a template may lack the data.
	Superseded []digest.Digest
	// Step is the strategy of the latest reload.
	Step Step
	// Entries are the digests of the sources.
	Entries map[source.LocalKey]digest.Digest
	// Consented is a signature about the entries of other namespaces. See SignForeign.
	Consented string
	// Aggregates replace the entries of kinds with too many of them. See Aggregate.
	Aggregates map[source.Kind]Total
	// OnDelete reports whether the controller that wrote it reloads for deletions, and so has
	// reloaded for earlier ones. Gone are the sources with an entry that did not exist then, and
	// whose deletion caused no reload.
	OnDelete bool
	Gone     map[source.LocalKey]struct{}
	// Selecting is a digest of what selects its sources, if the workload selects some by their
	// labels. As long as it is the same, a source with an entry was selected.
	Selecting digest.Digest
	// Run is the latest run that was created for a reload, if reloads create runs.
	Run types.UID
	// NotifiedAt is when a receiver was last notified of changes, in seconds since 1970; 0 if none
	// was. It is unknown which of their data older Pods have.
	NotifiedAt int64
	// ChurnUntil is until when the latest reloads count against the limit of reloads, in seconds
	// since 1970; 0 if none does.
	ChurnUntil int64
	// Turn is what stood when the latest reload began, if that had to wait for its turn among the
	// workloads of its source.
	Turn Turn
	// Certificates are those of the TLS Secrets that the Pods were last rolled with, by the name of
	// the Secret. If there are many, it has those that expire first.
	Certificates map[string]source.Certificate
	// Noted is a digest of the changes of which a user was notified because Reroll does not reload
	// the workload; zero if there are none.
	Noted digest.Digest
	// Writes grows by one with each write.
	Writes int64
}

// Turn is what stood when a reload began. The zero Turn means that it had to wait for no other
// workload.
type Turn struct {
	// At is when the reload began, in seconds since 1970.
	At int64 `json:"at"`
	// Template is the pod template of that time, without marks.
	Template digest.Digest `json:"tpl,omitzero"`
	// Broken reports whether the workload was unavailable for another reason than an earlier
	// reload.
	Broken bool `json:"ill,omitempty"`
	// Again reports whether the earlier reload had failed.
	Again bool `json:"again,omitempty"`
}

// Total replaces all entries of a kind.
type Total struct {
	Digest digest.Digest `json:"sum"`
	Count  int           `json:"count"`
}

// String returns the text of l.Bounded() in the current format: compact JSON, the same for equal
// ledgers.
func (l Ledger) String() string {
	_, text := l.BoundedText()
	return text
}

// BoundedText returns l.Bounded() and its text.
func (l Ledger) BoundedText() (Ledger, string) {
	text := l.text()
	for len(text) > maxLedgerText {
		kind := l.largestKind()
		if kind == 0 {
			break // the entries of other namespaces are few
		}
		l = l.aggregated(kind)
		text = l.text()
	}
	return l, text
}

// Bounded returns the ledger with the content of its text. If the text would exceed 16 KiB, an
// aggregate replaces the entries of the kind that needs most room, then of the next. l is not
// changed.
func (l Ledger) Bounded() Ledger {
	if l.surelyFits() {
		return l
	}
	bounded, _ := l.BoundedText()
	return bounded
}

// surelyFits reports whether the text is short enough, without the cost of making it. Nearly all
// texts are.
func (l Ledger) surelyFits() bool {
	const (
		rest    = 2 << 10 // the fields that have a bound
		each    = 128     // what belongs to a name: a digest or two numbers, and the punctuation
		escaped = 6       // the bytes of JSON for one byte of a string, at most
	)
	length := rest + escaped*(len(l.UID)+len(l.Instance)+len(l.Run)+len(l.Consented))
	length += each * (len(l.Superseded) + len(l.Entries) + len(l.Gone) + len(l.Aggregates) + len(l.Certificates))
	for key := range l.Entries {
		length += escaped * len(key.Name)
	}
	for key := range l.Gone {
		length += escaped * len(key.Name)
	}
	for name := range l.Certificates {
		length += escaped * len(name)
	}
	return length <= maxLedgerText
}

// Aggregate returns one digest for all entries of a kind, without sources of other namespaces.
//
// As long as it stays the same, no source was changed, added or removed. If it differs, at least
// one source was, but the ledger shows neither which one nor how. Like an entry, it is zero if no
// data matches it.
func Aggregate(kind source.Kind, entries map[source.LocalKey]digest.Digest) digest.Digest {
	keys := slices.SortedFunc(maps.Keys(entries), source.CompareLocalKeys)

	e := digest.NewEncoder(sha256.New())
	e.Begin('a')
	for _, key := range keys {
		if key.Kind == kind && !key.IsForeign() {
			sum := entries[key]
			if sum.IsZero() {
				return sum
			}
			e.Text(key.Name)
			e.Write(sum[:])
		}
	}
	return digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
}

// aggregated does not change the maps of l, because they belong to the caller.
func (l Ledger) aggregated(kind source.Kind) Ledger {
	all := Total{Digest: Aggregate(kind, l.Entries)}
	for key := range l.Entries {
		if key.Kind == kind && !key.IsForeign() {
			all.Count++
		}
	}

	l.Entries = maps.Clone(l.Entries)
	maps.DeleteFunc(l.Entries, func(key source.LocalKey, _ digest.Digest) bool { return key.Kind == kind && !key.IsForeign() })

	aggregates := map[source.Kind]Total{kind: all}
	for other, total := range l.Aggregates {
		if other != kind {
			aggregates[other] = total
		}
	}
	l.Aggregates = aggregates
	return l
}

func (l Ledger) largestKind() source.Kind {
	room := map[source.Kind]int{}
	var largest source.Kind
	for key := range l.Entries {
		if key.IsForeign() {
			continue
		}
		room[key.Kind] += len(key.Name) + len(`"":"",`) + 2*len(digest.Digest{})
	}
	for kind, size := range room {
		if size > room[largest] || size == room[largest] && kind < largest {
			largest = kind
		}
	}
	return largest
}

// Content is a digest of the entries about sources, independent of the writer and the number of
// writes.
func (l Ledger) Content() string {
	return Ledger{Instance: l.Instance, Entries: l.Entries, Gone: l.Gone, Aggregates: l.Aggregates}.String()
}
