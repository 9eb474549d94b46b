// Package source reads ConfigMaps, Secrets, SecretProviderClasses and ClusterTrustBundles: it keeps
// digests and times, and no values. It does not know which workloads use them.
package source

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// StartLag is how long after a change a starting Pod may still get the previous data, because
// kubelets have a watch of their own. What was measured is in docs/contributing/testing.md, below
// "How late kubelets are".
const StartLag = 5 * time.Second

// Annotations are the annotations and labels of a source that select the workloads that it
// concerns.
type Annotations struct {
	Match  bool
	Ignore bool
	// Waves are its annotations about waves.
	Waves annotations.Kept
	// Labels are those of a ConfigMap or Secret, for the selectors of workloads.
	Labels Labels
	// AllowFrom are the other namespaces whose workloads may name it.
	AllowFrom annotations.AllowFrom
	// Unselected reports whether its labels do not match the selector of the controller.
	Unselected bool
}

// Source is a ConfigMap, a Secret, a SecretProviderClass or a ClusterTrustBundle without its values,
// which cannot be recovered from it. It has many fields, because each is a fact that decisions need,
// and the object itself is dropped.
type Source struct {
	Key             Key
	UID             types.UID
	ResourceVersion string

	// Digest is the digest of all data.
	Digest digest.Digest
	// Reloader is the SHA-1 that Reloader computes for the same data. For a Secret it is a MAC of
	// that SHA-1, unless the user chose marks with the SHA-1: see IsReloaderMark.
	Reloader [20]byte
	// Keys are sorted by name.
	Keys []digest.KeyDigest

	// DataTime is when the data was last written, by the clock of the API server, as far as the
	// object shows. It is never earlier than the creation of the object, and may be later than the
	// last change of the data, because a field manager has one time for all of its fields. It does
	// not move when an update only removes keys: the API server records no time for that, so an
	// early DataTime alone does not prove an early change.
	DataTime time.Time
	Created  time.Time
	// Writer is the field manager that wrote the data last, as far as the object shows.
	Writer string
	// EditedAt is when the data was last provably edited, in seconds since 1970: the time of a
	// field manager that owns only data. It is 0 if nothing proves an edit.
	EditedAt int64
	// MatchedAt is the latest time at which the annotation that lets searches match it can have been
	// written, in seconds since 1970. It is 0 if nothing shows the time.
	MatchedAt int64
	// Untracked reports whether the object has no managed fields, so that no edit has a time: it
	// was created without any field, or a client removed them. Then the API server records none
	// until a client applies the object.
	Untracked bool
	// AllowedAt is the latest time at which AllowFrom can have been written, like LabeledAt. It has
	// the room between its neighbors, because there may be many sources.
	AllowedAt uint32
	// LabeledAt is the latest time at which its labels can have been written, in seconds since 1970.
	// It is 0 if it has none, or if nothing shows the time.
	LabeledAt int64
	// Certificate is when the certificate of a TLS Secret is valid, of several the one that expires
	// first.
	Certificate Certificate
	// Bundle is what else is kept of a ClusterTrustBundle; nil for other sources.
	Bundle *TrustBundle
	// Started are the Pods with a report of a SecretProviderClass, by name, with whether they
	// started with the current data.
	Started map[string]bool

	Annotations Annotations
	// AnnotatedIn is the version in which another object with the annotations was written or deleted;
	// 0 if they are on this object.
	AnnotatedIn uint64
	// Mistakes are the mistakes in its annotations.
	Mistakes []annotations.Mistake
}

// OnlyLost reports whether the data only lacks keys of the earlier data. The API server records
// no time for that, unless its writer gets one, as with server-side apply.
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

// IsReloaderMark reports whether Reloader writes the mark for the current data of the source. The
// source was read with the key.
func (s *Source) IsReloaderMark(key digest.Key, mark string) bool {
	raw, err := hex.DecodeString(mark)
	if s.Key.IsForeign() {
		return false // Reloader rolls no workload of another namespace
	}
	if err != nil || len(raw) != sha1.Size || hex.EncodeToString(raw) != mark {
		return false
	}
	sum := [sha1.Size]byte(raw)
	if s.Key.Kind.Keyed() {
		sum = key.Masked(s.Key.Namespace, s.Key.Name, sum)
	}
	return sum == s.Reloader
}

// FromConfigMap reads a ConfigMap. The result shares no memory with its values.
func FromConfigMap(cm *corev1.ConfigMap, names annotations.Names) Source {
	if cm == nil {
		return Source{}
	}
	items := make([]digest.Item, 0, len(cm.Data)+len(cm.BinaryData))
	for key, value := range cm.Data {
		items = append(items, digest.Item{Section: digest.TextSection, Key: key, Text: value})
	}
	for key, value := range cm.BinaryData {
		items = append(items, digest.Item{Section: digest.BinarySection, Key: key, Raw: value})
	}
	src := fromLabeled(ConfigMap, &cm.ObjectMeta, names)
	src.Digest, src.Keys = digest.NewEncoder(sha256.New()).Content(items)
	src.Reloader = digest.ReloaderSum(items)
	return src
}

// FromSecret reads a Secret. The result shares no memory with its values.
//
// The zero digest.Key distinguishes changes as well, but then the digests protect nothing and must
// not be published.
func FromSecret(s *corev1.Secret, key digest.Key, names annotations.Names) Source {
	if s == nil {
		return Source{}
	}
	items := make([]digest.Item, 0, len(s.Data))
	for key, value := range s.Data {
		items = append(items, digest.Item{Section: digest.TextSection, Key: key, Raw: value})
	}
	src := fromLabeled(Secret, &s.ObjectMeta, names)
	src.Digest, src.Keys = digest.NewEncoder(hmac.New(sha256.New, key.SecretKey(src.Key.Namespace, src.Key.Name))).Content(items)
	src.Certificate = certificateOf(s)
	src.Reloader = key.Masked(src.Key.Namespace, src.Key.Name, digest.ReloaderSum(items))
	return src
}

// fromLabeled is for the kinds that workloads can select by label.
func fromLabeled(kind Kind, meta *metav1.ObjectMeta, names annotations.Names) Source {
	src := fromMeta(kind, meta, names)
	src.Annotations.Labels = LabelsOf(meta.Labels)
	if src.Annotations.Labels == (Labels{}) && len(src.Mistakes) < annotations.MaxMistakes {
		src.Mistakes = append(src.Mistakes, annotations.Mistake{Message: tooManyLabels})
	}
	if len(meta.Labels) > 0 {
		if at := LastWrite(meta, "labels"); !at.IsZero() {
			src.LabeledAt = at.Unix()
		}
	}
	if _, allows := meta.Annotations[annotations.AllowFromKey]; allows {
		src.Annotations.AllowFrom, _ = annotations.ReadAllowFrom(meta.Annotations)
		if at := LastWrite(meta, annotations.AllowFromKey).Unix(); at > 0 && at <= math.MaxUint32 {
			src.AllowedAt = uint32(at)
		}
	}
	return src
}

func fromMeta(kind Kind, meta *metav1.ObjectMeta, names annotations.Names) Source {
	written, writer, edited := dataTimes(meta, dataFieldsOf(kind))
	var matched int64
	if _, matches := meta.Annotations[names.Match]; matches {
		if at := LastWrite(meta, names.Match); !at.IsZero() {
			matched = at.Unix()
		}
	}
	waves, _ := annotations.ReadWaves(meta.Annotations, true)
	mistakes := annotations.MistakesOfSource(meta.Annotations, names)
	if _, allows := meta.Annotations[annotations.AllowFromKey]; allows && kind != ConfigMap && kind != Secret {
		mistakes = append(mistakes, annotations.Written{Values: meta.Annotations}.Mistake(annotations.AllowFromKey, "does nothing here; it belongs on a ConfigMap or Secret"))
	}
	return Source{
		Key:             Key{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		DataTime:        written,
		Writer:          writer,
		EditedAt:        edited,
		MatchedAt:       matched,
		Untracked:       len(meta.ManagedFields) == 0,
		Created:         meta.CreationTimestamp.Time,
		Annotations: Annotations{
			Match:  meta.Annotations[names.Match] == "true",
			Ignore: meta.Annotations[names.Ignore] == "true",
			Waves:  waves.Keep(),
		},
		Mistakes: mistakes,
	}
}
