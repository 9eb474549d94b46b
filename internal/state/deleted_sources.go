package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mostGone bounds the deleted sources in memory, by their weight. For any others, the ledgers of the
// workloads still contain the digests. Only the time of the deletion is lost, and then the Pods are
// listed.
const mostGone = 4096

// deletedSources are the sources whose deletion was observed, by namespace, in case they are
// recreated. A workload that used one may become known later, because watches are independent. So
// they are all kept, and the decision finds out which of them the Pods of a workload can have had.
type deletedSources struct {
	in     map[string]map[source.LocalKey]sourceRecord
	weight int
	// listed are the versions of the latest snapshots, if all deletions since are kept.
	listed map[snapshotOf]uint64
}

// snapshotOf is what a snapshot contains: a kind of sources, in one namespace or in all.
type snapshotOf struct {
	kind      source.Kind
	namespace string
}

// absentIn is the version of a snapshot without a source that a watch shows now, if it did not exist since;
// 0 if that is unknown. The bundles of a union exist before it.
func (s *State) absentIn(key source.Key, live bool) uint64 {
	if _, known := s.known(key); known || !live || key.Local().IsUnion() {
		return 0
	}
	listed := s.gone.listed
	return max(listed[snapshotOf{key.Kind, ""}], listed[snapshotOf{key.Kind, key.Namespace}])
}

// weightOf grows with the memory of a source. What its labels and annotations said earlier may take
// some KiB each.
func weightOf(src *sourceRecord) int {
	weight := 1 + len(src.Keys)/16 + 16*(src.seen.Relabeled.Len()+src.seen.Allowed.Len())
	if src.keys != nil {
		weight += 64
	}
	return weight
}

func (d *deletedSources) get(key source.Key) (sourceRecord, bool) {
	src, ok := d.in[key.Namespace][key.Local()]
	return src, ok
}

func (d *deletedSources) drop(key source.Key) {
	if src, ok := d.get(key); ok {
		d.weight -= weightOf(&src)
		drop(d.in, key.Namespace, key.Local())
	}
}

func (d *deletedSources) keep(src sourceRecord) {
	d.drop(src.Key)
	put(d.in, src.Key.Namespace, src.Key.Local(), src)
	d.weight += weightOf(&src)
	for d.weight > mostGone && d.shrink(src.Key) {
	}
}

// shrink drops the older half of the largest namespace, so that no namespace can push out what others
// need. It reports whether anything but the latest source was dropped.
func (d *deletedSources) shrink(latest source.Key) bool {
	clear(d.listed)
	largest, most := "", -1
	for namespace, of := range d.in {
		weight := 0
		for _, src := range of {
			weight += weightOf(&src)
		}
		if weight > most {
			largest, most = namespace, weight
		}
	}
	of := d.in[largest]
	byAge := slices.SortedFunc(maps.Values(of), func(a, b sourceRecord) int {
		return cmp.Compare(a.departure.Version, b.departure.Version)
	})
	dropped := false
	for _, src := range byAge[:(len(byAge)+1)/2] {
		if src.Key != latest {
			d.drop(src.Key)
			dropped = true
		}
	}
	return dropped
}

// forget drops those of a kind, in one namespace or in all, after a snapshot of a version. Their later
// history is unknown.
func (d *deletedSources) forget(kind source.Kind, namespace string, version uint64) {
	d.listed[snapshotOf{kind, namespace}] = version
	for in, of := range d.in {
		if namespace != "" && in != namespace {
			continue
		}
		for local := range of {
			if local.Kind == kind {
				d.drop(local.In(in))
			}
		}
	}
}

// DeleteSource removes a source whose deletion was observed, and returns the workloads that it may
// have concerned.
func (s *State) DeleteSource(key source.Key, departure reload.Departure) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	concerned := s.index.candidates(key)
	for _, concern := range concerned {
		s.workloads[concern].doubt(departure.Version)
	}
	known, ok := s.known(key)
	if ok && !s.noHistory {
		known.departure = &departure
		s.gone.keep(known)
	}
	s.index.dropSource(key)
	if ok && known.Bundle != nil {
		s.sawBundles(departure.Version, true)
		concerned = append(concerned, s.uniteWith(&known, nil, departure)...)
	}
	s.noteSource(key)
	return concerned
}
