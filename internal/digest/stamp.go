package digest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// StampPrefix begins a stamp: the value of an annotation that is added to a pod template before its
// manifest reaches a cluster. The number is the version of the Format and of the stamp.
const StampPrefix = "reroll1:"

// NoConfigData is the stamp of a pod template without any configuration. Because of it, the
// annotation exists from the beginning, and adding the first source is an ordinary change of its
// value.
const NoConfigData = "no-config-data"

// StampedSource is the part of a stamp about one source.
type StampedSource struct {
	// Kind is the kind of the digested object, as manifests spell it. For a Secret that is
	// generated from a SealedSecret, it is SealedSecret. One Secret can have several of one kind.
	Kind, Name string
	Digest     Digest
}

// Stamp returns the stamp of a pod template over some sources, in any order.
// The controller can compute a stamp again from the sources of a workload: the digests are
// Source.Digest, without the namespace, which is the same for all. Callers leave out sources
// without keys, because only data counts. A stamp does not list the sources that it covers, so the
// controller tries: all sources in the manifests beside the workload may concern it, or only the
// ConfigMaps, or some of the few others. A match shows which data was rendered with the template,
// but not which of the two reached the cluster first. Without a match, nothing follows.
// Digests of Secrets depend on the Key and on the namespace, so they match only if the stamp was
// made with the key of the installation and for the namespace of the Secret.
func Stamp(sources []StampedSource) string {
	if len(sources) == 0 {
		return NoConfigData
	}
	sorted := slices.Clone(sources)
	slices.SortFunc(sorted, func(a, b StampedSource) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), bytes.Compare(a.Digest[:], b.Digest[:]))
	})
	e := NewEncoder(sha256.New())
	e.Begin('p')
	e.number(len(sorted))
	for i := range sorted {
		e.Text(sorted[i].Kind)
		e.Text(sorted[i].Name)
		e.Write(sorted[i].Digest[:])
	}
	return StampPrefix + Digest(e.Sum(nil)[:len(Digest{})]).String()
}

// IsStamp reports whether a text is a stamp, over any sources.
func IsStamp(value string) bool {
	return value == NoConfigData || isDigestStamp(value)
}

// isDigestStamp accepts exactly the output of Stamp. A longer text with the same prefix belongs to
// another tool.
func isDigestStamp(value string) bool {
	digits, ok := strings.CutPrefix(value, StampPrefix)
	return ok && len(digits) == hex.EncodedLen(len(Digest{})) && strings.Trim(digits, "0123456789abcdef") == ""
}
