// Package reload decides which workloads run with outdated configuration. It
// works on values alone: what it needs of a cluster, of time or of chance
// comes in as arguments.
package reload

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SourceKey identifies a source in a cluster. It is comparable.
type SourceKey struct {
	Kind      SourceKind
	Namespace string
	Name      string
}

// String returns the key in the form "ConfigMap shop/web".
func (k SourceKey) String() string {
	return k.Kind.String() + " " + k.Namespace + "/" + k.Name
}

// Local returns the key as seen from within its namespace.
func (k SourceKey) Local() LocalKey {
	return LocalKey{Kind: k.Kind, Name: k.Name}
}

// LocalKey identifies a source within the namespace of the workload that uses
// it: no workload can use a source of another namespace. It is comparable.
type LocalKey struct {
	Kind SourceKind
	Name string
}

// String returns the key in the form "ConfigMap web".
func (k LocalKey) String() string {
	return k.Kind.String() + " " + k.Name
}

// In returns the key of the source with this name in a namespace.
func (k LocalKey) In(namespace string) SourceKey {
	return SourceKey{Kind: k.Kind, Namespace: namespace, Name: k.Name}
}

func compareLocalKeys(a, b LocalKey) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// KeyDigest is the digest of one key of a source and of its value. It tells
// which keys of one source changed, and is good for nothing else.
type KeyDigest struct {
	Name string
	Sum  [8]byte
}

// SourceAnnotations are what the annotations and labels of a source say about
// whom it concerns.
type SourceAnnotations struct {
	Match  bool
	Ignore bool
	// Unselected tells that the labels are not those that the controller was told
	// to look for.
	Unselected bool
}

// Source is what is kept of a ConfigMap, a Secret or a SecretProviderClass. No
// part of it allows anybody to read a value back.
type Source struct {
	Key             SourceKey
	UID             types.UID
	ResourceVersion string

	// Digest stands for the whole content.
	Digest Digest
	// Reloader is the SHA-1 that Reloader computes for the same data. For a Secret
	// it is a MAC of that, unless the user asked for marks with the SHA-1: see
	// IsReloaderMark.
	Reloader [20]byte
	// Keys are sorted by name.
	Keys []KeyDigest

	// DataTime is when the content was last written, by the clock of the API
	// server, as far as the object tells. It is never earlier than the creation
	// of the object, and may be later than the last change of content, because
	// a field manager has one time for all of its fields. It does not move when
	// an update does nothing but take keys away: the API server records no time
	// for that, so an early DataTime alone does not prove an early change.
	DataTime time.Time
	Created  time.Time
	// EditedAt is when the data were last provably edited, in seconds since 1970: the time of a field manager that owns nothing
	// beside the data. It is 0 if nothing proves an edit.
	EditedAt int64
	// Untracked tells that the object has no field managers, so that no edit has a time: it was created without any field, or
	// somebody dropped them. Then the API server notes none until something is applied.
	Untracked bool
	// Started are the pods that report what they have of a SecretProviderClass, by
	// name, with whether they started with the present content.
	Started map[string]bool

	Annotations SourceAnnotations
	// Problems are the mistakes in its annotations.
	Problems []Problem
}

// OnlyLost tells that all that differs from an earlier content is that keys were
// taken away, for which the API server notes no time.
func (s *Source) OnlyLost(before *Source) bool {
	if len(s.Keys) >= len(before.Keys) {
		return false
	}
	for _, key := range s.Keys {
		if !slices.Contains(before.Keys, key) {
			return false
		}
	}
	return true
}

// IsReloaderMark reports whether a mark is what Reloader writes for the present data of the source. It
// was read with the key.
func (s *Source) IsReloaderMark(key DigestKey, mark string) bool {
	raw, err := hex.DecodeString(mark)
	if err != nil || len(raw) != sha1.Size || hex.EncodeToString(raw) != mark {
		return false
	}
	sum := [sha1.Size]byte(raw)
	if s.Key.Kind.keyed() {
		sum = key.kept(s.Key.Namespace, s.Key.Name, sum)
	}
	return sum == s.Reloader
}

// FromConfigMap returns what is kept of a ConfigMap. The result shares no
// memory with the values of cm.
func FromConfigMap(cm *corev1.ConfigMap, names Names) Source {
	if cm == nil {
		return Source{}
	}
	items := make([]item, 0, len(cm.Data)+len(cm.BinaryData))
	for key, value := range cm.Data {
		items = append(items, item{section: textSection, key: key, text: value})
	}
	for key, value := range cm.BinaryData {
		items = append(items, item{section: binarySection, key: key, raw: value})
	}
	src := fromMeta(ConfigMap, &cm.ObjectMeta, names)
	src.Digest, src.Keys = newEncoder(sha256.New()).content(items)
	src.Reloader = reloaderSum(items)
	return src
}

// FromSecret returns what is kept of a Secret. The result shares no memory with
// the values of s.
//
// With the zero DigestKey changes are told apart as well, but the digests
// protect nothing and must not be shown to anybody.
func FromSecret(s *corev1.Secret, key DigestKey, names Names) Source {
	if s == nil {
		return Source{}
	}
	items := make([]item, 0, len(s.Data))
	for key, value := range s.Data {
		items = append(items, item{section: textSection, key: key, raw: value})
	}
	src := fromMeta(Secret, &s.ObjectMeta, names)
	src.Digest, src.Keys = newEncoder(hmac.New(sha256.New, key.of(src.Key.Namespace, src.Key.Name))).content(items)
	src.Reloader = key.kept(src.Key.Namespace, src.Key.Name, reloaderSum(items))
	return src
}

func fromMeta(kind SourceKind, meta *metav1.ObjectMeta, names Names) Source {
	written, edited := dataTimes(meta, names)
	return Source{
		Key:             SourceKey{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		DataTime:        written,
		EditedAt:        edited,
		Untracked:       len(meta.ManagedFields) == 0,
		Created:         meta.CreationTimestamp.Time,
		Annotations: SourceAnnotations{
			Match:  meta.Annotations[names.Match] == "true",
			Ignore: meta.Annotations[names.Ignore] == "true",
		},
		Problems: problemsOfSource(meta.Annotations, names),
	}
}

// ChangedKeys returns the keys that differ between two states of one source,
// each list sorted. The digests of both must have been made with the same
// DigestKey.
func ChangedKeys(before, after Source) (added, removed, changed []string) {
	was, is := before.Keys, after.Keys
	for len(was) > 0 && len(is) > 0 {
		switch cmp.Compare(was[0].Name, is[0].Name) {
		case -1:
			removed = append(removed, was[0].Name)
			was = was[1:]
		case +1:
			added = append(added, is[0].Name)
			is = is[1:]
		default:
			if was[0].Sum != is[0].Sum {
				changed = append(changed, is[0].Name)
			}
			was, is = was[1:], is[1:]
		}
	}
	for _, key := range was {
		removed = append(removed, key.Name)
	}
	for _, key := range is {
		added = append(added, key.Name)
	}
	return added, removed, changed
}

// dataTimes returns when the data were last written, at the latest, and when they were last provably edited. The first starts from
// the creation because a manifest that was exported and created again may bring field managers along that are older than the
// object. The second is 0 unless the source matched searches by then: what changed before was nobody's to act upon.
func dataTimes(meta *metav1.ObjectMeta, names Names) (written time.Time, edited int64) {
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

// editedSince reports whether the data were provably edited at a time or later.
func (s *Source) editedSince(t time.Time) bool { return s.EditedAt != 0 && s.EditedAt >= t.Unix() }
