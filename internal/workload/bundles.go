package workload

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/source"
)

// mostUnions bounds how often one template selects ClusterTrustBundles, and mostSelectors the length
// of all of these selectors: each event of a bundle is matched with them.
const (
	mostUnions    = 16
	mostSelectors = 4096
)

// bundlesOf returns the name of a ClusterTrustBundle, or the name of the union of those that a volume
// selects. Without a selector, a volume selects none.
func bundlesOf(src *corev1.ClusterTrustBundleProjection) string {
	if src.Name != nil {
		return *src.Name
	}
	selector, err := metav1.LabelSelectorAsSelector(src.LabelSelector)
	if err != nil || src.SignerName == nil || src.LabelSelector == nil {
		return ""
	}
	return source.Union{Signer: *src.SignerName, Selector: selector}.Key().Name
}

// boundUnions replaces the unions of bundles, if they are too many, by all bundles of each signer. So
// no change is lost.
func (r *references) boundUnions() {
	var unions []source.LocalKey
	size := 0
	for key := range r.uses {
		if key.IsUnion() {
			unions = append(unions, key)
			size += len(key.Name)
		}
	}
	if len(unions) <= mostUnions && size <= mostSelectors {
		return
	}
	slices.SortFunc(unions, source.CompareLocalKeys)
	found := maps.Clone(r.uses)
	for _, key := range unions {
		delete(found, key)
	}
	for _, key := range unions {
		all := source.Union{Signer: key.Signer(), Selector: labels.Everything()}.Key()
		found[all] = append(found[all], r.uses[key]...)
	}
	r.uses = found
}
