package state

import (
	"maps"
	"math"
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// sending is a ledger, with the versions of the sources that it was made from.
type sending struct {
	text     string
	versions map[source.LocalKey]uint64
	// before are the ledgers of earlier writes whose responses are missing, too, the latest one first.
	before []sending
}

// maxUnanswered is how many earlier writes without a response are kept.
const maxUnanswered = 4

// of returns the write with a ledger.
func (s sending) of(text string) (sending, bool) {
	switch {
	case text == "":
		return sending{}, false
	case s.text == text:
		return s, true
	}
	at := slices.IndexFunc(s.before, func(w sending) bool { return w.text == text })
	if at < 0 {
		return sending{}, false
	}
	return s.before[at], true
}

// earlier are the writes that may still take effect when another one begins.
func (s sending) earlier() []sending {
	if s.text == "" {
		return nil
	}
	all := slices.Concat([]sending{{text: s.text, versions: s.versions}}, s.before)
	return all[:min(len(all), maxUnanswered)]
}

// Compared records that a workload was compared with the sources in the facts. Its Pods have their
// data, or get it with the write.
func (s *State) Compared(f *reload.Facts) {
	versions, revision, marks := versionsOf(f), f.Workload.Revision(), f.Workload.MarksDigest()
	// If a source that it uses is deleted now, and is created again later, its Pods may have older data.
	lacks := f.Pods != nil && f.LacksDeleted()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.workloads[f.Workload.Key]
	if !ok || known.UID != f.Workload.UID {
		return
	}
	known.compare(s, versions)
	known.seen.ComparedAt = f.Version
	known.seen.ForgetPolicies(known.LedgerText != "" || known.remembered != "")
	known.seen.ForgetRecounts(f.Seen.Recounted)
	// A template that came back since is not the one whose Pods were asked.
	if f.Pods != nil && known.revision == revision && known.seen.Template == f.Seen.Template {
		if known.seen.TemplateReverted {
			known.asked = known.seen.Template
		}
		known.seen.TemplateReverted, known.seen.Trusted = known.seen.TemplateReverted && (lacks || known.missedOne(s)), marks
	}
}

// isBefore reports whether a change of a version is from before a template that came back, whose Pods
// were asked. If its watch shows it only now, they may lack it nevertheless.
func (w *workloadRecord) isBefore(version uint64) bool {
	return version < w.asked && w.asked == w.seen.Template
}

// missedOne reports whether there is such a change of a source that the workload was not compared with.
func (w *workloadRecord) missedOne(s *State) bool {
	for key := range w.away {
		now, ok := s.index.source(key.In(w.Key.Namespace))
		if ok && (w.isBefore(now.changed) || w.isBefore(now.changedFor(w.keysOf(&now.Source, s.keys)))) {
			return true
		}
	}
	return false
}

// Sending records the ledger of a write that is about to begin. It returns a function to call if
// the write was refused: then the previous write may have taken effect, and its response is still
// missing.
func (s *State) Sending(f *reload.Facts, ledger string) (refused func()) {
	versions, adopted, sources := versionsOf(f), f.Adopts(), f.AdoptsSources()
	s.mu.Lock()
	defer s.mu.Unlock()
	key, uid := f.Workload.Key, f.Workload.UID
	known, ok := s.workloads[key]
	if !ok || known.UID != uid {
		return func() {}
	}
	before := known.sending
	known.sending = sending{text: ledger, versions: versions, before: before.earlier()}
	known.seen.ComparedAt, known.seen.Adopted = f.Version, max(known.seen.Adopted, adopted) // even if the write has no effect
	if len(sources) > 0 {
		all := maps.Clone(known.seen.AdoptedSources) // facts have the earlier one
		if all == nil {
			all = map[source.LocalKey]uint64{}
		}
		maps.Copy(all, sources)
		known.seen.AdoptedSources = all
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		// If the watch has shown another write since, the ones before it have no effect any more.
		if known, ok := s.workloads[key]; ok && known.UID == uid && known.sending.text == ledger {
			known.sending = before
		}
	}
}

// versionsOf are the versions of the existing sources. Sources that do not concern the workload
// have the highest version, because their earlier data does not count.
func versionsOf(f *reload.Facts) map[source.LocalKey]uint64 {
	versions := make(map[source.LocalKey]uint64, len(f.Concerns)+len(f.Spared))
	for _, c := range f.Concerns {
		versions[c.Source.Key.Local()] = c.Seen.Version
	}
	for _, key := range f.Spared {
		versions[key] = math.MaxUint64
	}
	return versions
}

// compare forgets earlier data from before the versions that the workload was compared with.
func (w *workloadRecord) compare(s *State, versions map[source.LocalKey]uint64) {
	w.compared, w.comparedIn = true, 0
	away := s.awayUnselected(w)
	for key, before := range w.away {
		if _, compared := versions[key]; !compared && s.index.links(key.In(w.Key.Namespace), w.Key) {
			if away == nil {
				away = map[source.LocalKey]reload.Away{}
			}
			away[key] = before
		}
	}
	for key, version := range versions {
		now, ok := s.index.source(key.In(w.Key.Namespace))
		if !ok {
			continue
		}
		later, is := s.awayAfter(w, now, w.away[key], version)
		if !is {
			continue
		}
		if away == nil {
			away = map[source.LocalKey]reload.Away{}
		}
		away[key] = later
	}
	w.away = away
}

// awaySince are the sources that had other data after a version, whose events may have arrived
// before it: watches are independent. An earlier time hides the later one.
func (s *State) awaySince(w *workloadRecord, version uint64) map[source.LocalKey]reload.Away {
	since := map[source.LocalKey]reload.Away{}
	for key, away := range w.away {
		now, _ := s.index.source(key.In(w.Key.Namespace))
		if later, is := s.awayAfter(w, now, away, version); is {
			since[key] = later
		}
	}
	return since
}

// awayAfter is since when a source, nil if there is none, had other data after a version. What is known of
// that may be from a snapshot, which shows no version of the change.
func (s *State) awayAfter(w *workloadRecord, now *sourceRecord, known reload.Away, version uint64) (away reload.Away, is bool) {
	switch {
	case known.Made && now != nil && now.seen.Version <= version:
		return reload.Away{}, false // it existed before, as a late snapshot has shown
	case known.Version > version:
		return known, true
	case now != nil && s.changedAfter(w, now, version):
		return reload.Away{Version: version + 1}, true
	default:
		return reload.Away{}, false
	}
}

// awayUnselected are the sources that a comparison skips because they are not selected. They count
// when they are selected again.
func (s *State) awayUnselected(w *workloadRecord) map[source.LocalKey]reload.Away {
	var kept map[source.LocalKey]reload.Away
	for key, away := range w.away {
		if src, ok := s.index.source(key.In(w.Key.Namespace)); ok && src.Annotations.Unselected {
			if kept == nil {
				kept = map[source.LocalKey]reload.Away{}
			}
			kept[key] = away
		}
	}
	return kept
}

func (w *workloadRecord) recordAway(key source.LocalKey, away reload.Away, version uint64) {
	if w.away == nil {
		w.away = map[source.LocalKey]reload.Away{}
	}
	w.away[key] = away
	w.doubt(version)
}

// doubt is for a change of a source. The next comparison asks the Pods again if they may lack it.
func (w *workloadRecord) doubt(version uint64) {
	w.seen.TemplateReverted = w.seen.TemplateReverted || w.isBefore(version)
}
