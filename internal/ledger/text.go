package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// ledgerText is the text of the annotation. Entries are by name. It has many fields because each
// key of the JSON is one.
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
	Noted      digest.Digest   `json:"noted,omitzero"`
	OnDelete   bool            `json:"del,omitempty"`
	Selecting  digest.Digest   `json:"sel,omitzero"`
	// Gone and All are by the short name of a kind.
	Gone      map[string][]string      `json:"gone,omitempty"`
	ConfigMap map[string]digest.Digest `json:"cm,omitempty"`
	Secret    map[string]digest.Digest `json:"secret,omitempty"`
	SPC       map[string]digest.Digest `json:"spc,omitempty"`
	Bundles   map[string]digest.Digest `json:"ctb,omitempty"`
	All       map[string]*Total        `json:"all,omitempty"`
	// Foreign has the entries of sources of other namespaces, by the short name of the kind. Versions
	// that do not know them ignore and drop this field, and never take such an entry for one of the
	// namespace of the workload.
	Foreign   map[string]map[string]digest.Digest `json:"far,omitempty"`
	Consented string                              `json:"sig,omitempty"`
	// Certificates are by the name of a Secret.
	Certificates map[string]source.Certificate `json:"cert,omitempty"`
	// ForeignGone is like Foreign, for sources that did not exist.
	ForeignGone map[string]map[string]digest.Digest `json:"farGone,omitempty"`
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
		{source.ClusterTrustBundle, "ctb", func(t *ledgerText) *map[string]digest.Digest { return &t.Bundles }},
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
	text, err := parseText(s)
	if err != nil {
		return Ledger{}, err
	}
	l := Ledger{
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
		Noted:      text.Noted,
		Entries:    map[source.LocalKey]digest.Digest{},
		Aggregates: map[source.Kind]Total{},
		OnDelete:   text.OnDelete,
		Selecting:  text.Selecting,
		Consented:  text.Consented,
	}
	if len(text.Certificates) > 0 {
		l.Certificates = text.Certificates
	}
	for _, t := range kindsInText() {
		entries, all := *t.entries(&text), text.All[t.short]
		if len(entries) > 0 && all != nil {
			return Ledger{}, fmt.Errorf("ledger has entries of kind %s and one for all of them, must have either", t.kind)
		}
		for name, digest := range entries {
			l.Entries[source.LocalKey{Kind: t.kind, Name: name}] = digest
		}
		text.foreign(&l, t)
		if all != nil {
			l.Aggregates[t.kind] = *all
		}
		for _, name := range text.Gone[t.short] {
			l.noteGone(source.LocalKey{Kind: t.kind, Name: name})
		}
	}
	return l, nil
}

func parseText(s string) (text ledgerText, err error) {
	if len(s) > maxLedgerRead {
		return text, fmt.Errorf("ledger has %d bytes, must have at most %d", len(s), maxLedgerRead)
	}
	if err := json.Unmarshal([]byte(s), &text); err != nil || text.Format < 1 || text.Format > Format {
		return text, explain(s, err)
	}
	if err := text.bounded(); err != nil {
		return text, err
	}
	if text.Step > lastStep {
		return text, fmt.Errorf("ledger has step %d, must be from 0 to %d", text.Step, lastStep)
	}
	return text, nil
}

// explain returns why a text is no ledger of the known format, and err is the reason why it could
// not be read whole. The version counts first, because the rest of a newer text is unknown.
func explain(s string, err error) error {
	var version struct {
		Format int `json:"v"`
	}
	if err := json.Unmarshal([]byte(s), &version); err != nil {
		return fmt.Errorf("ledger must be a JSON object with a version: %w", err)
	}
	switch {
	case version.Format > Format:
		return fmt.Errorf("%w: it has format %d, known is %d", ErrNewerFormat, version.Format, Format)
	case version.Format < 1:
		return fmt.Errorf("ledger has format %d, must be from 1 to %d", version.Format, Format)
	}
	return fmt.Errorf("ledger of format %d: %w", version.Format, err)
}

// bounded returns an error if a number is out of the range that Reroll writes.
func (t *ledgerText) bounded() error {
	for _, number := range []struct {
		what       string
		value, max int64
	}{
		{"counter", t.Counter, MaxCounter}, {"number of writes", t.Writes, MaxCounter},
		{"data time", t.DataTime, source.MaxTime}, {"time of the last notification", t.NotifiedAt, source.MaxTime},
		{"time until which reloads count", t.ChurnUntil, source.MaxTime},
		{"time of the latest turn", t.Turn.At, source.MaxTime},
		{"number of superseded templates", int64(len(t.Superseded)), MaxSuperseded},
	} {
		if number.value < 0 || number.value > number.max {
			return fmt.Errorf("ledger has %s %d, must be from 0 to %d", number.what, number.value, number.max)
		}
	}
	if err := t.validForeign(); err != nil {
		return err
	}
	return t.boundedCertificates()
}

func (t *ledgerText) boundedCertificates() error {
	if len(t.Certificates) > MaxCertificates {
		return fmt.Errorf("ledger has number of certificates %d, must be from 0 to %d", len(t.Certificates), MaxCertificates)
	}
	for name, c := range t.Certificates {
		if len(name) > maxName || c.NotBefore < 0 || c.NotBefore > source.MaxTime || c.NotAfter < 0 || c.NotAfter > source.MaxTime {
			return errors.New("ledger has a certificate whose name is too long, or whose times are before 1970 or after 9999")
		}
	}
	return nil
}

func (l Ledger) text() string {
	text := ledgerText{Format: Format, UID: l.UID, Instance: l.Instance, Counter: l.Counter, DataTime: l.DataTime, Marks: l.Marks, Superseded: l.Superseded, Step: l.Step, Writes: l.Writes, Run: l.Run, NotifiedAt: l.NotifiedAt, ChurnUntil: l.ChurnUntil, Turn: l.Turn, Noted: l.Noted, OnDelete: l.OnDelete, Selecting: l.Selecting, Certificates: l.Certificates, Consented: l.Consented}
	for key, sum := range l.Entries {
		if key.IsForeign() {
			_, gone := l.Gone[key]
			text.putForeign(key, sum, gone)
			continue
		}
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
		if _, ok := l.Entries[key]; !ok || !known || key.IsForeign() {
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
