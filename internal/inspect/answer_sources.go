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
		if key.Kind.Reported() {
			continue
		}
		if s := e.source(f, a, key); !e.passedBy(f, &s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(x, y Source) int {
		return cmp.Or(cmp.Compare(x.Key.Kind, y.Key.Kind), cmp.Compare(x.Key.Name, y.Key.Name))
	})
	return all
}

// passedBy reports whether a source is only there because the workload has a selector, which does
// not match it. That may be most sources of a namespace.
func (e *Evaluation) passedBy(f *reload.Facts, s *Source) bool {
	p := &f.Workload.Policy
	if p.SelectorFor(s.Key.Kind) == nil || s.Verdict.Concerned || len(s.Uses) > 0 || p.Names(s.Key) {
		return false
	}
	src, _ := e.objects.source(s.Key.In(f.Workload.Key.Namespace))
	return !src.Annotations.Labels.MatchedBy(p.SelectorFor(s.Key.Kind))
}

func (e *Evaluation) source(f *reload.Facts, a *Answer, key source.LocalKey) Source {
	w := &f.Workload
	s := Source{Key: key, Older: -1, Unread: e.unread(key.Kind), Ignored: e.objects.settings.ignores(key.Kind)}
	ref, _ := w.Reference(key)
	s.Uses = ref.Uses
	src, there := e.objects.source(key.In(w.Key.Namespace))
	granted := e.consents(key.In(w.Key.Namespace), w, &src)
	s.Verdict = w.Verdict(key.In(w.Key.Namespace), src.Annotations, f.AutoReloadAll)
	if seen := key.In(w.Key.Namespace); seen.IsForeign() {
		if !e.foreignSource(&s, seen, granted) {
			return s
		}
		src.Key = seen
		src.Conceal(e.objects.settings.Key)
	}
	if !there {
		s.Keys = w.KeysOf(key, source.Labels{}, f.Keys)
		s.Absent = !s.Unread && !s.Ignored
		_, s.Deleted = a.Ledger.Entries[key]
		if key.Kind.ClusterScoped() && s.Ignored {
			s.Deleted = false // none is read
		}
		if s.Absent && !s.Deleted {
			s.Near = e.near(key, w.Key.Namespace)
		}
		return s
	}
	s.Written, s.Created = src.DataTime, src.Created
	if !key.IsForeign() {
		s.Mistakes = src.Mistakes
	}
	s.Match = src.Annotations.Match
	if s.Verdict.Concerned {
		s.Content = e.objects.settings.compare(f, &src, &a.Ledger)
	}
	s.readKeys(&src, w.KeysOf(key, src.Annotations.Labels, f.Keys), &a.Ledger)
	return s
}

// counts reports whether the controller compares the source with the ledger.
func (s *Source) counts() bool { return s.Verdict.Concerned && !s.Absent && !s.Ignored && !s.Outside }

func (s *Settings) compare(f *reload.Facts, src *source.Source, l *Ledger) Content {
	key := src.Key.Local()
	digest, ok := l.Entries[key]
	_, all := l.Aggregates[key.Kind]
	all = all && !key.IsForeign()
	switch {
	case !l.There || l.Err != nil || !ok && !all:
		return NotInLedger
	case key.Keyed() && (s.NoKey != "" || l.Instance != s.Key.ID()):
		return Keyed
	case all:
		return NotCompared
	case f.IsCurrent(src, digest):
		return AsInLedger
	default:
		return OtherThanInLedger
	}
}
