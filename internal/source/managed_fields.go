package source

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LastWrite is the newest time of a field manager that owns a field of that name; zero if none
// does. The field was not written later.
func LastWrite(meta *metav1.ObjectMeta, field string) (newest time.Time) {
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time != nil && entry.Time.After(newest) && OwnsField(entry.FieldsV1, field) {
			newest = entry.Time.Time
		}
	}
	return newest
}

// dataFields are the names of the fields with the data of a kind, as managed fields have them.
type dataFields [2]string

func dataFieldsOf(kind Kind) dataFields {
	if kind == ClusterTrustBundle {
		return dataFields{"f:spec", "f:spec"}
	}
	return dataFields{"f:data", "f:binaryData"}
}

// dataTimes returns the latest possible time of the last write of the data, the field manager that
// wrote it, and the time of the last proven edit. The first is not before the creation, because the
// managed fields of an exported manifest may be older than the object. The last is 0 if nothing
// proves an edit.
func dataTimes(meta *metav1.ObjectMeta, fields dataFields) (written time.Time, writer string, edited int64) {
	written = meta.CreationTimestamp.Time
	if len(meta.ManagedFields) == 1 {
		writer = managerNamed(meta.ManagedFields[0].Manager)
	}
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		if entry.Time == nil || !entry.Time.After(meta.CreationTimestamp.Time) {
			continue
		}
		owns, alone := ownsData(entry.FieldsV1, fields)
		if owns && entry.Time.After(written) {
			written, writer = entry.Time.Time, managerNamed(entry.Manager)
		}
		if alone {
			edited = max(edited, entry.Time.Unix())
		}
	}
	return written, writer, edited
}

// managerNamed returns a name without the memory of its object. Sources that arrive together share
// it, because few programs write sources.
func managerNamed(name string) string { return unique.Make(name).Value() }

// OwnsField reports whether a field of that name is among the fields of a manager, wherever it is. It
// makes no string of all fields, because each event of a workload asks for several.
func OwnsField(fields *metav1.FieldsV1, name string) bool {
	for rest := fields.GetRawBytes(); ; {
		i := bytes.Index(rest, []byte(name))
		if i < 0 {
			return false
		}
		before, after := rest[:i], rest[i+len(name):]
		if bytes.HasSuffix(before, []byte(`"f:`)) && bytes.HasPrefix(after, []byte(`"`)) {
			return true
		}
		rest = after
	}
}

// ownsData reports whether a manager owns data, and whether it owns only data. A manager has one
// time for all of its fields, so a manager of labels or annotations proves no edit of data. Only
// the top level counts, because a label, an annotation or a key may be named "data" as well.
// Invalid fields own nothing.
func ownsData(fields *metav1.FieldsV1, data dataFields) (owns, alone bool) {
	// Most managers own only labels or annotations, and need no parsing.
	raw := fields.GetRawBytes()
	if !slices.ContainsFunc(data[:], func(field string) bool { return bytes.Contains(raw, []byte(`"`+field+`"`)) }) {
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
		case data[0], data[1]:
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

// passedOver skips a JSON value.
type passedOver struct{}

// UnmarshalJSON stores nothing.
func (*passedOver) UnmarshalJSON([]byte) error { return nil }
