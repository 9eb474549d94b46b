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

// workloadRecord is one with what was seen of it.
type workloadRecord struct {
	workload.Workload
	seen     reload.WorkloadSeen
	revision digest.Digest
	links    links
	// own is the state of the object without its template users; nil without any.
	own *own
	// remembered is the text of the ledger that we wrote or accepted last.
	remembered string
	ranks      ranks
	// left are the sources that have had another content since the workload was compared with them.
	left map[source.LocalKey]reload.Away
	// compared reports whether it was compared at all, by us or by another replica whose ledger was seen to come.
	compared bool
	// sending is the ledger of the latest write that was begun. It may arrive by its answer or by the watch alone.
	sending sending
	// answered is the version of the latest answer to a write of ours.
	answered uint64
}

type own struct {
	policy    policy.Policy
	optedInAt time.Time
	rolledOut bool
	progress  workload.Progress
	pausable  bool
}

// sending is a ledger, and the versions of the sources that it was made of.
type sending struct {
	text     string
	versions map[source.LocalKey]uint64
}

// maxRecent bounds the revisions that are kept of a workload whose rollouts never end. Past it the pods are asked, so it is
// beyond what a Deployment controller leaves unfinished that has far too much to do.
const maxRecent = 128

// PutWorkload stores a workload and reports whether it is to be reconciled: not if nothing differs that a decision
// depends on. Live is an event of a watch that has missed nothing since the last complete snapshot, or the response to
// a write of ours.
func (s *State) PutWorkload(w workload.Workload, live bool) bool {
	defer s.forgetGone()
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putWorkload(w, revision, rank, live)
}

// PutAnswer stores the response to a write of ours. It is live, and it never adds a workload: the watch may have reported
// meanwhile that the workload was deleted, and would not report it again.
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

// Behind reports whether the cache of a workload is stale, that is, older than our latest write. A snapshot that was taken before
// the write may be stored after its response, and the watch that continues from it brings the newer version again.
func (s *State) IsStale(w *workload.Workload) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, ok := s.workloads[w.Key]
	version := VersionOf(w.ResourceVersion)
	return ok && known.UID == w.UID && version != 0 && version < known.answered
}

// ResetStale says that the newer version does not come: the API server was set back.
func (s *State) ResetStale(key workload.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[key]; ok {
		known.answered = 0
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
		next.left, next.compared, next.sending = known.left, known.compared, known.sending
		unselected := s.leftUnselected(known)
		switch {
		case known.LedgerText == w.LedgerText:
		case w.LedgerText != "" && known.sending.text == w.LedgerText:
			next.compare(s, known.sending.versions)
		case rank.Follows(known.ranks.current, known.ranks.remembered):
			// Another instance has written it, and so has compared what was there before.
			next.compared, next.left = true, maps.Clone(known.left)
			maps.DeleteFunc(next.left, func(_ source.LocalKey, l reload.Away) bool { return l.Version <= version })
			maps.Copy(next.left, unselected)
		}
	}
	switch {
	case !live:
		// Whether a template that differs was there before, nobody saw.
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
			next.seen.Template = version // no pod of it has read anything before
		}
		switch {
		case w.Policy.Widens(known.Policy, s.autoReloadAll):
			next.seen.Widen(version, known.Policy)
		case !known.OptedInAt.IsZero() && known.OptedInAt.Before(w.OptedInAt):
			next.OptedInAt = known.OptedInAt // the client that wrote the annotations has written something else
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
		// It would never be known to be at rest again.
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
	cameBack := next.seen.Returned && same && known.revision != revision
	byReloader := same && !known.Marks.ByReloader.Equal(w.Marks.ByReloader) // another rollout is to be reported
	restarted := same && known.Marks.RestartAt != w.Marks.RestartAt         // which no revision shows
	runs := same && !known.Runs.Equal(w.Runs)
	return !same || cameBack || byReloader || restarted || runs || known.LedgerText != w.LedgerText || linked || !known.Policy.Equal(w.Policy)
}

// relink brings the index up to what a workload asks for now, and reports whether that may be other sources than before. Most
// events change nothing of it.
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

// changeTemplate notes that the pod template is another one from a version on.
func (w *workloadRecord) changeTemplate(revision digest.Digest, version uint64) {
	w.seen.Template = version
	w.seen.Returned = w.seen.MayHavePods(revision)
	w.mayHave(revision)
}

// mayHave notes a revision that pods may be of.
func (w *workloadRecord) mayHave(revision digest.Digest) {
	if !slices.Contains(w.seen.Recent, revision) {
		w.seen.Recent = append(slices.Clone(w.seen.Recent), revision)
	}
	if len(w.seen.Recent) > maxRecent {
		w.seen.Recent, w.seen.Whole = []digest.Digest{revision}, false
	}
}

// Compared notes that a workload was compared with what the facts say of its sources, and that its pods have that or get
// it with what was written.
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

// Sending notes the ledger of a write that is about to begin. It returns what is to be called if that was refused: the one before
// may have been written then, and nothing was heard of it yet.
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
	known.seen.ComparedAt, known.seen.Adopted = f.Version, max(known.seen.Adopted, f.Adopts()) // whether the write takes effect or not
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if known, ok := s.workloads[key]; ok && known.UID == uid {
			known.sending = before
		}
	}
}

// versionsOf are the versions of the sources that exist. Those that do not concern the workload have the highest: nothing that
// they were counts.
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

// compare forgets what left before the versions that the workload was compared with. What changed since then, changed
// at some time after them. Nothing is known yet of a source that did not exist then.
func (w *workloadRecord) compare(s *State, versions map[source.LocalKey]uint64) {
	w.compared = true
	left := s.leftUnselected(w)
	for key, before := range w.left {
		if _, compared := versions[key]; !compared && s.index.links(key.In(w.Key.Namespace), w.Key) {
			if left == nil {
				left = map[source.LocalKey]reload.Away{}
			}
			left[key] = before
		}
	}
	for key, version := range versions {
		now, ok := s.sources[key.In(w.Key.Namespace)]
		if !ok || now.changed <= version {
			continue
		}
		if left == nil {
			left = map[source.LocalKey]reload.Away{}
		}
		left[key] = reload.Away{Version: version + 1}
		if before, ok := w.left[key]; ok && before.Version > version {
			left[key] = before
		}
	}
	w.left = left
}

// leftUnselected are those that a comparison leaves out, and that count when they are selected again.
func (s *State) leftUnselected(w *workloadRecord) map[source.LocalKey]reload.Away {
	var kept map[source.LocalKey]reload.Away
	for key, left := range w.left {
		if src, ok := s.sources[key.In(w.Key.Namespace)]; ok && src.Annotations.Unselected {
			if kept == nil {
				kept = map[source.LocalKey]reload.Away{}
			}
			kept[key] = left
		}
	}
	return kept
}

func (w *workloadRecord) leave(key source.LocalKey, left reload.Away) {
	if w.left == nil {
		w.left = map[source.LocalKey]reload.Away{}
	}
	w.left[key] = left
}

// DeleteWorkload forgets a workload.
func (s *State) DeleteWorkload(key workload.Key) {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropWorkload(key)
}

// KeepWorkloads forgets the workloads of a kind, in one namespace or in all, that a complete snapshot did not name, and
// returns them.
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
		delete(s.workloads, key)
	}
}
