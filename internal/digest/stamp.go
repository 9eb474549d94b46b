package digest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// StampPrefix begins a stamp: the value of an annotation that was put on a pod
// template before its manifest reached a cluster. The number is that of the
// Format, and of how a stamp is made of digests.
const StampPrefix = "reroll1:"

// NoConfigData is the stamp of a pod template without any configuration. It
// stands for a digest, so that the annotation is there from the beginning and
// the first source is an ordinary change of its value.
const NoConfigData = "no-config-data"

// StampedSource is what a stamp contains of one source.
type StampedSource struct {
	// Kind is as manifests spell it. It is the kind of the object that was
	// digested: of a Secret that is made of a SealedSecret, it is the latter. There
	// can be several of one kind for one Secret.
	Kind, Name string
	Digest     Digest
}

// Stamp returns the stamp of a pod template over some sources, in whatever
// order they come.
//
// It can be made again from what is kept of the sources of a workload: the
// digests are Source.Digest, without the namespace, in which all of them are.
// Sources without keys are left out by who makes a stamp, because data alone
// counts. Which sources a stamp covers is not in it. It is found by trying:
// those in the manifests beside the workload may have been all that concern it,
// or the ConfigMaps alone, or some others of its few. A match tells which data
// was rendered with the template, and not which of them reached the cluster
// first; what matches nothing tells nothing.
//
// Digests of Secrets depend on the Key and on the namespace, so they match
// only if the stamp was made with the key of the installation and for the
// namespace that the Secret is in.
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

// isDigestStamp takes exactly what Stamp writes: what only begins like it is
// somebody else's.
func isDigestStamp(value string) bool {
	digits, ok := strings.CutPrefix(value, StampPrefix)
	return ok && len(digits) == hex.EncodedLen(len(Digest{})) && strings.Trim(digits, "0123456789abcdef") == ""
}
