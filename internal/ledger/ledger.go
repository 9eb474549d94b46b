// Package ledger knows the annotation that records what the pods of a workload last started with: its
// format, its bounds, and which of two was written later. It does not know what follows from it.
package ledger

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// errNoLedger and the others are the reasons why the data of the Pods is unknown.
const (
	ErrNone        = ledgerError("it has no ledger yet")
	ErrOtherObject = ledgerError("its ledger was copied from another object")
)

// Format is the version of the text of a ledger and of the digests in it:
// it has to grow with digest.Format.
const Format = 1

// maxLedgerText keeps the ledger to a small part of the 256 KiB that all
// annotations of an object may have together.
const maxLedgerText = 16 << 10

// MaxCounter bounds the numbers that a ledger counts up. One reload each millisecond reaches it
// after 35 years. Without a bound, a forged number at the end of its range could not be counted up
// any more.
const MaxCounter = 1 << 40

// maxTime is the end of the year 9999 in seconds since 1970.
const maxTime = 253402300799

// maxLedgerRead bounds what another client can have read as a ledger, each time that the workload
// is reconciled. A newer version may write more than this one.
const maxLedgerRead = 4 * maxLedgerText

// ErrNewerFormat is found by errors.Is in the error of Parse when a newer
// version has written the ledger, which therefore must not be overwritten.
const ErrNewerFormat = ledgerError("ledger was written by a newer version")

type ledgerError string

// Error returns the message.
func (e ledgerError) Error() string { return string(e) }

// Ledger is what a workload was last rolled with. It stands on the workload.
type Ledger struct {
	// Format is the version of the text that it was read from.
	Format int
	// UID is that of the workload. One that differs from it shows a copy.
	UID types.UID
	// Instance is the ID of the digest.Key behind the digests of Secrets.
	Instance string
	// Counter grows by one with each reload.
	Counter int64
	// DataTime is the newest of the sources in it, in seconds since 1970. A
	// content that differs from its entry and claims to be no newer was changed
	// in a way that the API server notes no time for.
	DataTime int64
	// Marks stands for the marks in the pod template as the latest reload left
	// them: pods of a template with these marks were started after it. It is zero
	// if nothing follows from them any more.
	Marks digest.Digest
	// Step is which mark the latest reload has left.
	Step Step
	// Entries are the digests of the sources.
	Entries map[source.LocalKey]digest.Digest
	// Aggregates replace the entries of the kinds that have too many of them. See Aggregate for
	// what they show.
	Aggregates map[source.Kind]Total
	// OnDelete reports whether the controller that wrote it reloads for deletions, and so has
	// reloaded for earlier ones. Gone are the sources with an entry that did not exist then, and
	// for which nobody has reloaded.
	OnDelete bool
	Gone     map[source.LocalKey]struct{}
	// Run is the latest run that was made for a reload, if reloads make any.
	Run types.UID
	// Told is when a receiver was last notified of changes, in seconds since 1970; 0 if none was.
	// Which of their data older Pods have is unknown.
	NotifiedAt int64
	// Writes grows by one with each time it is written.
	Writes int64
}

// Total stands in for all entries of a kind.
type Total struct {
	Digest digest.Digest `json:"sum"`
	Count  int           `json:"count"`
}

// ledgerText is the annotation. Entries are by name.
type ledgerText struct {
	Format     int           `json:"v"`
	UID        types.UID     `json:"uid"`
	Instance   string        `json:"key,omitempty"`
	Counter    int64         `json:"n"`
	DataTime   int64         `json:"t,omitempty"`
	Marks      digest.Digest `json:"m,omitzero"`
	Step       Step          `json:"step,omitempty"`
	Writes     int64         `json:"w,omitempty"`
	Run        types.UID     `json:"run,omitempty"`
	NotifiedAt int64         `json:"told,omitempty"`
	OnDelete   bool          `json:"del,omitempty"`
	// Gone and All are by what stands for a kind.
	Gone      map[string][]string      `json:"gone,omitempty"`
	ConfigMap map[string]digest.Digest `json:"cm,omitempty"`
	Secret    map[string]digest.Digest `json:"secret,omitempty"`
	SPC       map[string]digest.Digest `json:"spc,omitempty"`
	All       map[string]*Total        `json:"all,omitempty"`
}

// kindInText is how a ledger writes down a kind of source.
type kindInText struct {
	kind source.Kind
	// short stands for the kind, and entries are where its digests are.
	short   string
	entries func(*ledgerText) *map[string]digest.Digest
}

func kindsInText() [source.KindCount]kindInText {
	return [...]kindInText{
		{source.ConfigMap, "cm", func(t *ledgerText) *map[string]digest.Digest { return &t.ConfigMap }},
		{source.Secret, "secret", func(t *ledgerText) *map[string]digest.Digest { return &t.Secret }},
		{source.SecretProviderClass, "spc", func(t *ledgerText) *map[string]digest.Digest { return &t.SPC }},
	}
}

func inText(kind source.Kind) (kindInText, bool) {
	for _, t := range kindsInText() {
		if t.kind == kind {
			return t, true
		}
	}
	return kindInText{}, false
}

// entriesOf returns where the entries of a kind stand. For what is no kind of
// source they stand nowhere and get lost.
func (t *ledgerText) entriesOf(kind source.Kind) *map[string]digest.Digest {
	if traits, ok := inText(kind); ok {
		return traits.entries(t)
	}
	return new(map[string]digest.Digest)
}

// Parse reads the text of a ledger. An error that is not ErrNewerFormat
// means that the text is damaged and worth nothing. The maps of the result can
// be written to.
func Parse(s string) (Ledger, error) {
	if len(s) > maxLedgerRead {
		return Ledger{}, fmt.Errorf("ledger has %d bytes, must have at most %d", len(s), maxLedgerRead)
	}
	// The version comes first: of a newer one nothing else can be relied upon.
	var version struct {
		Format int `json:"v"`
	}
	if err := json.Unmarshal([]byte(s), &version); err != nil {
		return Ledger{}, fmt.Errorf("ledger must be a JSON object with a version: %w", err)
	}
	if version.Format > Format {
		return Ledger{}, fmt.Errorf("%w: it has format %d, known is %d", ErrNewerFormat, version.Format, Format)
	}
	if version.Format < 1 {
		return Ledger{}, fmt.Errorf("ledger has format %d, must be from 1 to %d", version.Format, Format)
	}

	var text ledgerText
	if err := json.Unmarshal([]byte(s), &text); err != nil {
		return Ledger{}, fmt.Errorf("ledger of format %d: %w", version.Format, err)
	}
	if err := text.bounded(); err != nil {
		return Ledger{}, err
	}
	if text.Step > lastStep {
		return Ledger{}, fmt.Errorf("ledger has step %d, must be from 0 to %d", text.Step, lastStep)
	}
	l := Ledger{
		Format:     text.Format,
		UID:        text.UID,
		Instance:   text.Instance,
		Counter:    text.Counter,
		DataTime:   text.DataTime,
		Marks:      text.Marks,
		Step:       text.Step,
		Writes:     text.Writes,
		Run:        text.Run,
		NotifiedAt: text.NotifiedAt,
		Entries:    map[source.LocalKey]digest.Digest{},
		Aggregates: map[source.Kind]Total{},
		OnDelete:   text.OnDelete,
	}
	for _, t := range kindsInText() {
		entries, all := *t.entries(&text), text.All[t.short]
		if len(entries) > 0 && all != nil {
			return Ledger{}, fmt.Errorf("ledger has entries of kind %s and one for all of them, must have either", t.kind)
		}
		for name, digest := range entries {
			l.Entries[source.LocalKey{Kind: t.kind, Name: name}] = digest
		}
		if all != nil {
			l.Aggregates[t.kind] = *all
		}
		for _, name := range text.Gone[t.short] {
			if l.Gone == nil {
				l.Gone = map[source.LocalKey]struct{}{}
			}
			l.Gone[source.LocalKey{Kind: t.kind, Name: name}] = struct{}{}
		}
	}
	return l, nil
}

// bounded returns an error if a number is one that Reroll never writes.
func (t *ledgerText) bounded() error {
	for _, number := range []struct {
		what       string
		value, max int64
	}{
		{"counter", t.Counter, MaxCounter}, {"number of writes", t.Writes, MaxCounter},
		{"data time", t.DataTime, maxTime}, {"time of the last notification", t.NotifiedAt, maxTime},
	} {
		if number.value < 0 || number.value > number.max {
			return fmt.Errorf("ledger has %s %d, must be from 0 to %d", number.what, number.value, number.max)
		}
	}
	return nil
}

// String returns the text of l.Bounded() in the current format: compact JSON,
// the same for equal ledgers.
func (l Ledger) String() string {
	return l.Bounded().text()
}

// Bounded returns the ledger as its text keeps it. If the text would exceed
// 16 KiB, an aggregate takes the place of the entries of the kind that needs
// most room, then of the next. l stays as it is.
func (l Ledger) Bounded() Ledger {
	for len(l.text()) > maxLedgerText && len(l.Entries) > 0 {
		l = l.aggregated(l.largestKind())
	}
	return l
}

// Aggregate returns the digest that stands for all entries of a kind.
//
// As long as it stays the same, no source was changed, added or removed.
// Once it differs, one of these happened to at least one source; which source
// and which of the three cannot be told from the ledger any more.
func Aggregate(kind source.Kind, entries map[source.LocalKey]digest.Digest) digest.Digest {
	keys := slices.SortedFunc(maps.Keys(entries), source.CompareLocalKeys)

	e := digest.NewEncoder(sha256.New())
	e.Begin('a')
	for _, key := range keys {
		if key.Kind == kind {
			digest := entries[key]
			e.Text(key.Name)
			e.Write(digest[:])
		}
	}
	return digest.Digest(e.Sum(nil)[:len(digest.Digest{})])
}

// aggregated leaves the maps of l alone: they are the caller's.
func (l Ledger) aggregated(kind source.Kind) Ledger {
	all := Total{Digest: Aggregate(kind, l.Entries)}
	for key := range l.Entries {
		if key.Kind == kind {
			all.Count++
		}
	}

	l.Entries = maps.Clone(l.Entries)
	maps.DeleteFunc(l.Entries, func(key source.LocalKey, _ digest.Digest) bool { return key.Kind == kind })

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
		room[key.Kind] += len(key.Name) + len(`"":"",`) + 2*len(digest.Digest{})
	}
	for kind, size := range room {
		if size > room[largest] || size == room[largest] && kind < largest {
			largest = kind
		}
	}
	return largest
}

func (l Ledger) text() string {
	text := ledgerText{Format: Format, UID: l.UID, Instance: l.Instance, Counter: l.Counter, DataTime: l.DataTime, Marks: l.Marks, Step: l.Step, Writes: l.Writes, Run: l.Run, NotifiedAt: l.NotifiedAt, OnDelete: l.OnDelete}
	for key, sum := range l.Entries {
		entries := text.entriesOf(key.Kind)
		if *entries == nil {
			*entries = map[string]digest.Digest{}
		}
		(*entries)[key.Name] = sum
	}
	for kind, total := range l.Aggregates {
		t, ok := inText(kind)
		if !ok || len(*t.entries(&text)) > 0 {
			continue // entries show more
		}
		if text.All == nil {
			text.All = map[string]*Total{}
		}
		text.All[t.short] = &total
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.Gone), source.CompareLocalKeys) {
		t, known := inText(key.Kind)
		if _, ok := l.Entries[key]; !ok || !known {
			continue // of one digest for all nothing can be gone
		}
		if text.Gone == nil {
			text.Gone = map[string][]string{}
		}
		text.Gone[t.short] = append(text.Gone[t.short], key.Name)
	}
	raw, _ := json.Marshal(text) // strings, numbers and digests always can be
	return string(raw)
}

// Content is a digest of what a ledger records about sources, whoever wrote it and how often.
func (l Ledger) Content() string {
	return Ledger{Instance: l.Instance, Entries: l.Entries, Gone: l.Gone, Aggregates: l.Aggregates}.String()
}
