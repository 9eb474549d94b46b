package source

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// LastWrite is the newest time of a field manager that owns a field of that name; zero if none does. The field was not written later.
func LastWrite(meta *metav1.ObjectMeta, field string) (newest time.Time) {
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time != nil && entry.Time.After(newest) && ownsField(entry.FieldsV1, field) {
			newest = entry.Time.Time
		}
	}
	return newest
}

// dataTimes returns when the data were last written, at the latest, and when they were last provably edited. The first starts from
// the creation because a manifest that was exported and created again may bring field managers along that are older than the
// object. The second is 0 unless the source matched searches by then: what changed before was nobody's to act upon.
func dataTimes(meta *metav1.ObjectMeta, names annotations.Names) (written time.Time, edited int64) {
	written = meta.CreationTimestamp.Time
	var matches time.Time
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time == nil || !entry.Time.After(meta.CreationTimestamp.Time) {
			continue
		}
		owns, alone := ownsData(entry.FieldsV1)
		if owns && entry.Time.After(written) {
			written = entry.Time.Time
		}
		if alone {
			edited = max(edited, entry.Time.Unix())
		}
		if entry.Time.After(matches) && ownsField(entry.FieldsV1, names.Match) {
			matches = entry.Time.Time
		}
	}
	if !matches.IsZero() && edited < matches.Unix() {
		edited = 0
	}
	return written, edited
}

// ownsField reports whether a field of that name is among the fields of a manager, wherever it is.
func ownsField(fields *metav1.FieldsV1, name string) bool {
	return fields != nil && strings.Contains(fields.GetRawString(), `"f:`+name+`"`)
}

// ownsData reports whether data are among the fields of a manager, and whether they are alone. A manager has one time for all of
// its fields, so that one which has labels or annotations as well proves no edit of data. Only the top level counts: labels,
// annotations and keys of the data may be called "data" as well. What cannot be read owns nothing.
func ownsData(fields *metav1.FieldsV1) (owns, alone bool) {
	// Most managers own labels or annotations alone, and need no parsing.
	raw := fields.GetRawBytes()
	if !bytes.Contains(raw, []byte(`"f:data"`)) && !bytes.Contains(raw, []byte(`"f:binaryData"`)) {
		return false, false
	}

	decoder := json.NewDecoder(bytes.NewReader(raw))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return false, false
	}
	alone = true
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return false, false
		}
		switch name {
		case "f:data", "f:binaryData":
			owns = true
		case "f:type": // it never changes
		default:
			alone = false
		}
		if owns && !alone {
			return true, false
		}
		var value passedOver
		if err := decoder.Decode(&value); err != nil {
			return false, false
		}
	}
	return owns, owns && alone
}

// passedOver is a JSON value of which nothing is kept.
type passedOver struct{}

// UnmarshalJSON keeps nothing.
func (*passedOver) UnmarshalJSON([]byte) error { return nil }
