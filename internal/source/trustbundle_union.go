package source

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// Union is a set of ClusterTrustBundles that a volume selects by their signer and their labels. Pods
// get the certificates of all of them as one file, so together they are one source.
type Union struct {
	Signer   string
	Selector labels.Selector
}

// Key identifies the union. No bundle has such a name, because names of objects contain no brace.
func (u Union) Key() LocalKey {
	return LocalKey{Kind: ClusterTrustBundle, Name: u.Signer + "{" + u.Selector.String() + "}"}
}

// IsUnion reports whether a key identifies a union of ClusterTrustBundles.
func (k LocalKey) IsUnion() bool {
	return k.Kind == ClusterTrustBundle && strings.HasSuffix(k.Name, "}")
}

// Signer is the signer of a union, which has no name of its own; otherwise the name of the source.
func (k LocalKey) Signer() string {
	signer, _, _ := strings.Cut(k.Name, "{")
	if k.IsUnion() {
		return signer
	}
	return k.Name
}

// Union returns the union that the key identifies; false for any other source.
func (k LocalKey) Union() (Union, bool) {
	if !k.IsUnion() {
		return Union{}, false
	}
	signer, text, found := strings.Cut(strings.TrimSuffix(k.Name, "}"), "{")
	selector, err := labels.Parse(text)
	if !found || err != nil {
		return Union{}, false
	}
	return Union{Signer: signer, Selector: selector}, true
}

// Has reports whether a bundle belongs to the union.
func (u Union) Has(src *Source) bool {
	return src.Bundle != nil && src.Bundle.Signer == u.Signer && u.Selector.Matches(src.Bundle.Labels)
}

// Of returns the union of bundles as a source; false if there are none. Its keys are its bundles. So
// a union that has only lost bundles is known as one, because the API server records no time for
// that.
//
// A change of labels may change which bundles belong to it, without a trace in the data. So the
// latest write of any of its bundles counts as the time of its data.
//
// The annotations of a single bundle cannot hold for all. The union is ignored, or not selected, if
// all of its bundles are, and matches searches if one of them does. What one of them sets about waves
// holds for the union; of several, the first by name.
func (u Union) Of(bundles []*Source) (Source, bool) {
	if len(bundles) == 0 {
		return Source{}, false
	}
	slices.SortFunc(bundles, func(a, b *Source) int { return cmp.Compare(a.Key.Name, b.Key.Name) })
	united := Source{
		Key: u.Key().In(""), Created: bundles[0].Created,
		Annotations: Annotations{Ignore: true, Unselected: true},
	}
	var certificates []digest.Digest
	for _, b := range bundles {
		certificates = append(certificates, b.Bundle.Certificates...)
		united.Keys = append(united.Keys, digest.KeyDigest{Name: b.Key.Name, Sum: b.Keys[0].Sum})
		if b.Bundle.Written.After(united.DataTime) {
			united.DataTime, united.Writer = b.Bundle.Written, b.Writer
		}
		if b.Created.Before(united.Created) {
			united.Created = b.Created
		}
		united.EditedAt = max(united.EditedAt, b.EditedAt)
		united.Untracked = united.Untracked || b.Untracked
		a := &united.Annotations
		if a.Waves == (annotations.Kept{}) {
			a.Waves = b.Annotations.Waves
		}
		a.Match, a.Ignore, a.Unselected = a.Match || b.Annotations.Match, a.Ignore && b.Annotations.Ignore, a.Unselected && b.Annotations.Unselected
	}
	united.setCertificates(sortedOnce(certificates))
	return united, true
}
