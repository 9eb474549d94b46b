// Package ledger reads and writes the annotation that records the data with which the Pods of a
// workload last started: its format, its bounds, and the order of two ledgers. It does not decide
// anything.
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

// maxTime is the end of the year 9999 in seconds since 1970.
const maxTime = 253402300799

// maxLedgerRead bounds the text that is parsed as a ledger, because other clients can write it. A
// newer version may write more than this one.
const maxLedgerRead = 4 * maxLedgerText

// ErrNewerFormat is the error of Parse, by errors.Is, if a newer version wrote the ledger. Such a
// ledger must not be overwritten.
const ErrNewerFormat = ledgerError("ledger was written by a newer version")

type ledgerError string

// Error returns the message.
func (e ledgerError) Error() string { return string(e) }

// Ledger is the data that a workload was last rolled with, in an annotation of the workload.
type Ledger struct {
	// Format is the version of its text.
	Format int
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
	// Superseded are the revisions of the pod template that a rollout of another client was replacing
	// when its data was recorded. Pods of such a template may lack the data.
	Superseded []digest.Digest
	// Step is the strategy of the latest reload.
	Step Step
	// Entries are the digests of the sources.
	Entries map[source.LocalKey]digest.Digest
	// Aggregates replace the entries of kinds with too many of them. See Aggregate.
	Aggregates map[source.Kind]Total
	// OnDelete reports whether the controller that wrote it reloads for deletions, and so has
	// reloaded for earlier ones. Gone are the sources with an entry that did not exist then, and
	// whose deletion caused no reload.
	OnDelete bool
	Gone     map[source.LocalKey]struct{}
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
	// Broken reports whether the workload was unavailable for another reason than an earlier reload.
	Broken bool `json:"ill,omitempty"`
}

// Total replaces all entries of a kind.
type Total struct {
	Digest digest.Digest `json:"sum"`
	Count  int           `json:"count"`
}

// ledgerText is the text of the annotation. Entries are by name. It has many fields because each key
// of the JSON is one.
type ledgerText struct {
	Format     int             `json:"v"`
	UID        types.UID       `json:"uid"`
	Instance   string          `json:"key,omitempty"`
	Counter    int64           `json:"n"`
	DataTime   int64           `json:"t,omitempty"`
	Marks      digest.Digest   `json:"m,omitzero"`
	Superseded []digest.Digest `json:"old,omitempty"`
	Step       Step            `json:"step,omitempty"`
	Writes     int64           `json:"w,omitempty"`
	Run        types.UID       `json:"run,omitempty"`
	NotifiedAt int64           `json:"told,omitempty"`
	ChurnUntil int64           `json:"churn,omitempty"`
	Turn       Turn            `json:"turn,omitzero"`
	OnDelete   bool            `json:"del,omitempty"`
	// Gone and All are by the short name of a kind.
	Gone      map[string][]string      `json:"gone,omitempty"`
	ConfigMap map[string]digest.Digest `json:"cm,omitempty"`
	Secret    map[string]digest.Digest `json:"secret,omitempty"`
	SPC       map[string]digest.Digest `json:"spc,omitempty"`
	All       map[string]*Total        `json:"all,omitempty"`
}

// kindInText is how a ledger represents a kind of source.
type kindInText struct {
	kind source.Kind
	// short is the short name of the kind, and entries is the field with its digests.
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

// entriesOf returns the field for the entries of a kind. Entries of an unknown kind are dropped.
func (t *ledgerText) entriesOf(kind source.Kind) *map[string]digest.Digest {
	if traits, ok := inText(kind); ok {
		return traits.entries(t)
	}
	return new(map[string]digest.Digest)
}

// Parse parses the text of a ledger. Any error other than ErrNewerFormat means that the text is
// invalid. The maps of the result can be written to.
func Parse(s string) (Ledger, error) {
	if len(s) > maxLedgerRead {
		return Ledger{}, fmt.Errorf("ledger has %d bytes, must have at most %d", len(s), maxLedgerRead)
	}
	// The version comes first, because the rest of a newer text is unknown.
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
		Superseded: text.Superseded,
		Step:       text.Step,
		Writes:     text.Writes,
		Run:        text.Run,
		NotifiedAt: text.NotifiedAt,
		ChurnUntil: text.ChurnUntil,
		Turn:       text.Turn,
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

// bounded returns an error if a number is out of the range that Reroll writes.
func (t *ledgerText) bounded() error {
	for _, number := range []struct {
		what       string
		value, max int64
	}{
		{"counter", t.Counter, MaxCounter}, {"number of writes", t.Writes, MaxCounter},
		{"data time", t.DataTime, maxTime}, {"time of the last notification", t.NotifiedAt, maxTime},
		{"time until which reloads count", t.ChurnUntil, maxTime},
		{"time of the latest turn", t.Turn.At, maxTime},
		{"number of superseded templates", int64(len(t.Superseded)), MaxSuperseded},
	} {
		if number.value < 0 || number.value > number.max {
			return fmt.Errorf("ledger has %s %d, must be from 0 to %d", number.what, number.value, number.max)
		}
	}
	return nil
}

// String returns the text of l.Bounded() in the current format: compact JSON, the same for equal
// ledgers.
func (l Ledger) String() string {
	return l.Bounded().text()
}

// Bounded returns the ledger with the content of its text. If the text would exceed 16 KiB, an
// aggregate replaces the entries of the kind that needs most room, then of the next. l is not
// changed.
func (l Ledger) Bounded() Ledger {
	for len(l.text()) > maxLedgerText && len(l.Entries) > 0 {
		l = l.aggregated(l.largestKind())
	}
	return l
}

// Aggregate returns one digest for all entries of a kind.
//
// As long as it stays the same, no source was changed, added or removed. If it differs, at least
// one source was, but the ledger shows neither which one nor how. Like an entry, it is zero if no
// data matches it.
func Aggregate(kind source.Kind, entries map[source.LocalKey]digest.Digest) digest.Digest {
	keys := slices.SortedFunc(maps.Keys(entries), source.CompareLocalKeys)

	e := digest.NewEncoder(sha256.New())
	e.Begin('a')
	for _, key := range keys {
		if key.Kind == kind {
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
	text := ledgerText{Format: Format, UID: l.UID, Instance: l.Instance, Counter: l.Counter, DataTime: l.DataTime, Marks: l.Marks, Superseded: l.Superseded, Step: l.Step, Writes: l.Writes, Run: l.Run, NotifiedAt: l.NotifiedAt, ChurnUntil: l.ChurnUntil, Turn: l.Turn, OnDelete: l.OnDelete}
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
			continue // entries contain more
		}
		if text.All == nil {
			text.All = map[string]*Total{}
		}
		text.All[t.short] = &total
	}
	for _, key := range slices.SortedFunc(maps.Keys(l.Gone), source.CompareLocalKeys) {
		t, known := inText(key.Kind)
		if _, ok := l.Entries[key]; !ok || !known {
			continue // one digest for all does not show deletions
		}
		if text.Gone == nil {
			text.Gone = map[string][]string{}
		}
		text.Gone[t.short] = append(text.Gone[t.short], key.Name)
	}
	raw, _ := json.Marshal(text) // strings, numbers and digests always marshal
	return string(raw)
}

// Content is a digest of the entries about sources, independent of the writer and the number of
// writes.
func (l Ledger) Content() string {
	return Ledger{Instance: l.Instance, Entries: l.Entries, Gone: l.Gone, Aggregates: l.Aggregates}.String()
}
