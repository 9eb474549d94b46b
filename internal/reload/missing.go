package reload

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// Missing are the entries of the workload's lists that match no source.
func (f *Facts) Missing() []policy.NamedSource {
	there := f.existing()
	byKind := map[source.Kind][]string{}
	for key := range there {
		byKind[key.Kind] = append(byKind[key.Kind], key.Name)
	}
	return f.Workload.Policy.NamedWhere(func(kind source.Kind, entry annotations.NamedEntry) bool {
		if entry.Pattern == nil {
			_, exists := there[source.LocalKey{Kind: kind, Name: entry.Text}]
			return !exists
		}
		return !slices.ContainsFunc(byKind[kind], entry.Pattern.Matches)
	})
}

// Awaited are the sources that do not exist, that the workload references, and that will concern it
// once they exist.
func (f *Facts) Awaited() []Concern {
	there := f.existing()
	var awaited []Concern
	for _, ref := range f.Workload.References {
		if _, exists := there[ref.Key]; exists {
			continue
		}
		src := ref.Key.In(f.Workload.Key.Namespace)
		if v := f.Workload.Judge(src, source.Annotations{}, f.AutoReloadAll); v.Concerned {
			awaited = append(awaited, Concern{Source: source.Source{Key: src}, Verdict: v, Deleted: true, Uses: ref.Uses})
		}
	}
	return awaited
}

// CompareConcerns orders by kind and name.
func CompareConcerns(a, b Concern) int {
	return source.CompareLocalKeys(a.Source.Key.Local(), b.Source.Key.Local())
}

func (f *Facts) existing() map[source.LocalKey]struct{} {
	there := make(map[source.LocalKey]struct{}, len(f.Spared)+len(f.Unselected)+len(f.Concerns))
	for _, keys := range [][]source.LocalKey{f.Spared, f.Unselected} {
		for _, key := range keys {
			there[key] = struct{}{}
		}
	}
	for _, c := range f.Concerns {
		there[c.Source.Key.Local()] = struct{}{}
	}
	return there
}
