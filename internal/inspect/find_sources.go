package inspect

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/source"
)

// Sources returns the sources whose names contain a text in lower case, whether or not a workload uses
// them, in a namespace, or in all if it is empty. They are sorted.
func (v *View) Sources(namespace, text string) (all []source.Key, err error) {
	err = v.with(func(from *origin) error {
		for key := range from.objects.sourcesIn(namespace) {
			if !key.Kind.Reported() && key.Origin() == key && (namespace == "" || key.Namespace == namespace) && strings.Contains(strings.ToLower(key.Name), text) {
				all = append(all, key)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b source.Key) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}
