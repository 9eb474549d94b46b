package inspect

import (
	"cmp"
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// sources returns all sources that the workload references or names, including those that do not
// exist.
func (e *Evaluation) sources(f *reload.Facts, a *Answer) []Source {
	keys := map[source.LocalKey]struct{}{}
	for _, ref := range f.Workload.References {
		keys[ref.Key] = struct{}{}
	}
	for _, c := range f.Concerns {
		keys[c.Source.Key.Local()] = struct{}{}
	}
	for _, key := range slices.Concat(f.Spared, f.Unselected) {
		keys[key] = struct{}{}
	}
	for _, n := range f.Workload.Policy.Named() {
		if !n.Expression {
			keys[source.LocalKey{Kind: n.Kind, Name: n.Text}] = struct{}{}
		}
	}
	var all []Source
	for key := range keys {
		if !key.Kind.Reported() {
			all = append(all, e.source(f, a, key))
		}
	}
	slices.SortFunc(all, func(x, y Source) int {
		return cmp.Or(cmp.Compare(x.Key.Kind, y.Key.Kind), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return all
}

func (e *Evaluation) source(f *reload.Facts, a *Answer, key source.LocalKey) Source {
	w := &f.Workload
	s := Source{Key: key, Older: -1, Unread: e.unread(key.Kind), Ignored: e.objects.settings.ignores(key.Kind)}
	ref, _ := w.Reference(key)
	s.Uses = ref.Uses
	src, there := e.objects.sources[key.In(w.Key.Namespace)]
	s.Verdict = w.Judge(key.In(w.Key.Namespace), src.Annotations, f.AutoReloadAll)
	if !there {
		s.Absent = !s.Unread && !s.Ignored
		_, s.Deleted = a.Ledger.Entries[key]
		if s.Absent && !s.Deleted {
			s.Near = e.near(key, w.Key.Namespace)
		}
		return s
	}
	s.Written, s.Created, s.Problems = src.DataTime, src.Created, src.Problems
	s.Match = src.Annotations.Match
	if s.Verdict.Concerned {
		s.Content = e.objects.settings.compare(&src, &a.Ledger)
	}
	return s
}

// counts reports whether the controller compares the source with the ledger.
func (s *Source) counts() bool { return s.Verdict.Concerned && !s.Absent && !s.Ignored }

func (s *Settings) compare(src *source.Source, l *Ledger) Content {
	key := src.Key.Local()
	digest, ok := l.Entries[key]
	_, all := l.Aggregates[key.Kind]
	switch {
	case !l.There || l.Err != nil || !ok && !all:
		return NotInLedger
	case key.Kind.Keyed() && s.NoKey != "", l.UnderOtherKey(key.Kind, s.Key.ID()):
		return Keyed
	case all:
		return NotCompared
	case digest == src.Digest:
		return AsInLedger
	default:
		return OtherThanInLedger
	}
}
