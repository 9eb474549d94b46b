package state

import (
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// workloadRecord is a workload with its observed history.
type workloadRecord struct {
	workload.Workload
	seen     reload.WorkloadSeen
	revision digest.Digest
	links    links
	// own is the state of the object without its template users; nil without any.
	own *own
	// remembered is the text of the ledger that we wrote or accepted last, or that another client
	// removed before we could.
	remembered string
	ranks      ranks
	// away are the sources that had other data since the workload was compared with them.
	away map[source.LocalKey]reload.Away
	// compared reports whether the workload was ever compared, by us or by another replica whose
	// ledger the watch has shown.
	compared bool
	// sending is the ledger of the latest write that was begun. The response or the watch may show
	// that it took effect.
	sending sending
	// answered is the version in the latest response to a write of ours.
	answered uint64
}

type own struct {
	policy    policy.Policy
	optedInAt time.Time
	rolledOut bool
	progress  workload.Progress
	pausable  bool
}

// sending is a ledger, with the versions of the sources that it was made from.
type sending struct {
	text     string
	versions map[source.LocalKey]uint64
}

// maxRecent bounds the revisions of a workload whose rollouts never end. Beyond it, Pods are listed.
const maxRecent = 128

// PutWorkload stores a workload and reports whether it has to be reconciled: not if no input of a
// decision changed. Live is an event of a watch without a gap since the last complete snapshot, or
// the response to a write of ours.
func (s *State) PutWorkload(w workload.Workload, live bool) bool {
	defer s.forgetGone()
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putWorkload(w, revision, rank, live)
}

// PutAnswer stores the response to a write of ours. The response is live, and it never adds a
// workload: the watch may have reported its deletion in the meantime, and would not report that
// again.
func (s *State) PutAnswer(w workload.Workload) {
	defer s.forgetGone()
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {
		s.putWorkload(w, revision, rank, true)
		now := s.workloads[w.Key]
		now.answered = max(now.answered, VersionOf(w.ResourceVersion))
	}
}

func (s *State) putWorkload(w workload.Workload, revision digest.Digest, rank ledger.Rank, live bool) bool {
	version := VersionOf(w.ResourceVersion)
	known, ok := s.workloads[w.Key]
	same := ok && known.UID == w.UID
	if same && overtaken(version, VersionOf(known.ResourceVersion), live) {
		return false
	}
	itself := s.ownOf(&w)
	w = s.withTemplateUsers(w)
	next := &workloadRecord{Workload: w, own: itself, revision: revision, links: linksOf(&w, s.autoReloadAll), seen: reload.WorkloadSeen{Since: version}}
	next.ranks.current = rank
	if same {
		next.remembered, next.ranks.remembered, next.answered = known.remembered, known.ranks.remembered, known.answered
		next.away, next.compared, next.sending = known.away, known.compared, known.sending
		next.keepRemoved(known)
		unselected := s.awayUnselected(known)
		switch {
		case known.LedgerText == w.LedgerText:
		case w.LedgerText != "" && known.sending.text == w.LedgerText:
			next.compare(s, known.sending.versions)
		case rank.Follows(known.ranks.current, known.ranks.remembered):
			// Another replica has written the ledger, and so has compared all earlier versions.
			next.compared, next.away = true, s.awaySince(known, version)
			maps.Copy(next.away, unselected)
		}
	}
	switch {
	case !live:
		// No watch has shown whether a template that differs was in use before.
		next.seen.Returned = same && (known.seen.Returned || known.revision != revision)
		next.seen.Recent = []digest.Digest{revision}
	case !same:
		next.seen.Template, next.seen.Policy = version, version
		next.seen.Recent, next.seen.Whole = []digest.Digest{revision}, true
	default:
		next.seen = known.seen
		switch {
		case known.revision != revision:
			next.changeTemplate(revision, version)
		case known.Runs.Resumes(w.Runs):
			next.seen.Template = version // none of its Pods has read anything before
		}
		switch {
		case w.Policy.Widens(known.Policy, s.autoReloadAll):
			next.seen.Widen(version, known.Policy)
		case !known.OptedInAt.IsZero() && known.OptedInAt.Before(w.OptedInAt):
			next.OptedInAt = known.OptedInAt // the client that wrote the annotations has written another field
		}
	}
	if same {
		next.seen.ComparedAt, next.seen.Adopted, next.seen.Ready = known.seen.ComparedAt, known.seen.Adopted, known.seen.Ready
	}
	if next.seen.Ready == 0 && w.Progress.Observed && w.Progress.Available > 0 {
		next.seen.Ready = version
	}
	switch {
	case w.RolledOut && (!same || !w.Unobserved):
		next.seen.Recent, next.seen.Whole = []digest.Digest{revision}, true
	case w.Unobserved && same && !live:
		// Otherwise the rollout would never count as completed again.
		next.seen.Recent, next.seen.Whole = known.seen.Recent, known.seen.Whole
		next.mayHave(revision)
	}
	if ok {
		s.orphan(&known.Workload)
	}
	linked := s.relink(known, next)
	if w.Parent != nil {
		add(s.children, w.Parent.Key, w.Key)
	}
	s.workloads[w.Key] = next
	s.countWaves(known, next)
	cameBack := next.seen.Returned && same && known.revision != revision
	byReloader := same && !known.Marks.ByReloader.Equal(w.Marks.ByReloader) // another rollout has to be reported
	restarted := same && known.Marks.RestartAt != w.Marks.RestartAt         // no revision shows that
	runs := same && !known.Runs.Equal(w.Runs)
	return !same || cameBack || byReloader || restarted || runs || known.LedgerText != w.LedgerText || linked || !known.Policy.Equal(w.Policy)
}

// relink updates the index for the current policy and references of a workload, and reports whether
// other sources may concern it. Most events change neither.
func (s *State) relink(known, next *workloadRecord) bool {
	if known != nil && !relinked(known, next) {
		return false
	}
	if known != nil {
		s.unlink(known)
	}
	s.index.link(next.Key, next.links)
	return true
}

// changeTemplate records that the pod template changed in a version.
func (w *workloadRecord) changeTemplate(revision digest.Digest, version uint64) {
	w.seen.Template = version
	w.seen.Returned = w.seen.MayHavePods(revision)
	w.mayHave(revision)
}

// mayHave records a revision that Pods may have.
func (w *workloadRecord) mayHave(revision digest.Digest) {
	if !slices.Contains(w.seen.Recent, revision) {
		w.seen.Recent = append(slices.Clone(w.seen.Recent), revision)
	}
	if len(w.seen.Recent) > maxRecent {
		w.seen.Recent, w.seen.Whole = []digest.Digest{revision}, false
	}
}

// Compared records that a workload was compared with the sources in the facts. Its Pods have their
// data, or get it with the write.
func (s *State) Compared(f *reload.Facts) {
	versions, revision, marks := versionsOf(f), f.Workload.Revision(), f.Workload.MarksDigest()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.workloads[f.Workload.Key]
	if !ok || known.UID != f.Workload.UID {
		return
	}
	known.compare(s, versions)
	known.seen.ComparedAt, known.seen.Earlier, known.seen.Widened = f.Version, nil, nil
	if f.Pods != nil && known.revision == revision {
		known.seen.Returned, known.seen.Trusted = false, marks
	}
}

// Sending records the ledger of a write that is about to begin. It returns a function to call if
// the write was refused: then the previous write may have taken effect, and its response is still
// missing.
func (s *State) Sending(f *reload.Facts, ledger string) (refused func()) {
	versions := versionsOf(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	key, uid := f.Workload.Key, f.Workload.UID
	known, ok := s.workloads[key]
	if !ok || known.UID != uid {
		return func() {}
	}
	before := known.sending
	known.sending = sending{text: ledger, versions: versions}
	known.seen.ComparedAt, known.seen.Adopted = f.Version, max(known.seen.Adopted, f.Adopts()) // even if the write has no effect
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if known, ok := s.workloads[key]; ok && known.UID == uid {
			known.sending = before
		}
	}
}

// versionsOf are the versions of the existing sources. Sources that do not concern the workload have
// the highest version, because their earlier data does not count.
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
	w.compared = true
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
		if !ok || now.changed <= version {
			continue
		}
		if away == nil {
			away = map[source.LocalKey]reload.Away{}
		}
		away[key] = reload.Away{Version: version + 1}
		if before, ok := w.away[key]; ok && before.Version > version {
			away[key] = before
		}
	}
	w.away = away
}

// awaySince are the sources that had other data after a version, whose events may have arrived
// before it: watches are independent. An earlier time hides the later one.
func (s *State) awaySince(w *workloadRecord, version uint64) map[source.LocalKey]reload.Away {
	since := map[source.LocalKey]reload.Away{}
	for key, away := range w.away {
		now, ok := s.index.source(key.In(w.Key.Namespace))
		switch {
		case away.Version > version:
			since[key] = away
		case ok && now.changed > version:
			since[key] = reload.Away{Version: version + 1}
		}
	}
	return since
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

func (w *workloadRecord) recordAway(key source.LocalKey, away reload.Away) {
	if w.away == nil {
		w.away = map[source.LocalKey]reload.Away{}
	}
	w.away[key] = away
}

// DeleteWorkload removes a workload.
func (s *State) DeleteWorkload(key workload.Key) {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWorkload(key)
}

// KeepWorkloads removes the workloads of a kind, in one namespace or in all, that a complete
// snapshot did not contain, and returns them.
func (s *State) KeepWorkloads(kind, namespace string, named map[types.NamespacedName]struct{}) (gone []workload.Key) {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.workloads {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			s.dropWorkload(key)
			gone = append(gone, key)
		}
	}
	return gone
}

func (s *State) dropWorkload(key workload.Key) {
	if known, ok := s.workloads[key]; ok {
		s.unlink(known)
		s.orphan(&known.Workload)
		s.countWaves(known, nil)
		delete(s.workloads, key)
	}
}
