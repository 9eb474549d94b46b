package reload

import "slices"

// Missing are the entries of the workload's lists that no source fits.
func (f *Facts) Missing() []NamedSource {
	there := f.existing()
	return f.Workload.Policy.named(func(kind SourceKind, entry namedEntry) bool {
		return !slices.ContainsFunc(there, func(key LocalKey) bool { return key.Kind == kind && entry.matches(key.Name) })
	})
}

// Awaited are the sources that do not exist, that the workload refers to, and
// that will concern it once they do.
func (f *Facts) Awaited() []Concern {
	there := f.existing()
	var awaited []Concern
	for _, ref := range f.Workload.References {
		if slices.Contains(there, ref.Key) {
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

func (f *Facts) existing() []LocalKey {
	there := slices.Concat(f.Spared, f.Unselected)
	for _, c := range f.Concerns {
		there = append(there, c.Source.Key.Local())
	}
	return there
}
