package reload

import "slices"

// Missing are the entries of the workload's lists that no source fits.
func (f *Facts) Missing() []NamedSource {
	there := f.existing()
	byKind := map[SourceKind][]string{}
	for key := range there {
		byKind[key.Kind] = append(byKind[key.Kind], key.Name)
	}
	return f.Workload.Policy.named(func(kind SourceKind, entry namedEntry) bool {
		if entry.pattern == nil {
			_, exists := there[LocalKey{Kind: kind, Name: entry.text}]
			return !exists
		}
		return !slices.ContainsFunc(byKind[kind], entry.pattern.matches)
	})
}

// Awaited are the sources that do not exist, that the workload refers to, and
// that will concern it once they do.
func (f *Facts) Awaited() []Concern {
	there := f.existing()
	var awaited []Concern
	for _, ref := range f.Workload.References {
		if _, exists := there[ref.Key]; exists {
			continue
		}
		src := ref.Key.In(f.Workload.Key.Namespace)
		if v := f.Workload.Judge(src, SourceAnnotations{}, f.AutoReloadAll); v.Concerned {
			awaited = append(awaited, Concern{Source: Source{Key: src}, Verdict: v, Deleted: true, Uses: ref.Uses})
		}
	}
	return awaited
}

// CompareConcerns orders them by kind and name.
func CompareConcerns(a, b Concern) int {
	return compareLocalKeys(a.Source.Key.Local(), b.Source.Key.Local())
}

func (f *Facts) existing() map[LocalKey]struct{} {
	there := make(map[LocalKey]struct{}, len(f.Spared)+len(f.Unselected)+len(f.Concerns))
	for _, keys := range [][]LocalKey{f.Spared, f.Unselected} {
		for _, key := range keys {
			there[key] = struct{}{}
		}
	}
	for _, c := range f.Concerns {
		there[c.Source.Key.Local()] = struct{}{}
	}
	return there
}
