package controller

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// In these histories, workloads choose which keys count, in ways that do not change which changes
// count: their templates use whole sources, and the only key that a list leaves out never exists. So
// all rules of the oracle hold, and each choice of other keys must roll nothing.

// keyRules are the values of the annotation; empty for none. The lists leave out keys that noteWholes
// knows, too.
func keyRules() []string {
	var lists []string
	for _, src := range sources() {
		lists = append(lists, src.String()+"=!spare")
	}
	return []string{"", "all", "used", strings.Join(lists, ","), "used," + strings.Join(lists[:2], ","), strings.Join(lists[1:], ",") + ",!other"}
}

// drawKeys draws which keys count for a controller by default.
func (h *history) drawKeys() policy.KeyMode {
	if !h.keysChosen {
		return policy.KeysAll
	}
	return []policy.KeyMode{policy.KeysAll, policy.KeysUsed}[rand.New(rand.NewPCG(h.seed, uint64(h.life)+3000)).IntN(2)]
}

// noteWholes notes which whole sources the digests of the listed keys belong to.
func (h *history) noteWholes() {
	if !h.keysChosen || h.c == nil {
		return
	}
	if h.wholes == nil {
		h.wholes = map[digest.Digest]digest.Digest{}
	}
	for _, src := range sources() {
		if known, ok := h.c.state.Source(source.Key{Kind: kindOf(src), Namespace: namespace, Name: src.Name}); ok {
			for _, without := range [][]string{{"spare"}, {"spare", "other"}} {
				h.wholes[known.DigestOf(source.ListedKeys(nil, without))] = known.Digest
			}
		}
	}
}

// inWholes replaces the digests of listed keys by those of whole sources.
func (h *history) inWholes(l ledger.Ledger) ledger.Ledger {
	for key, sum := range l.Entries {
		if whole, listed := h.wholes[sum]; listed {
			l.Entries[key] = whole
		}
	}
	return l
}

// noteKeysRecorded notes that a controller has compared a workload by its present keys.
func (h *history) noteKeysRecorded(name string, obj simapi.Object) {
	if h.keysUnseen(name) && len(pendingEntries(obj)) == 0 {
		delete(h.relisted, name)
	}
}

// keysUnseen reports whether the ledger of a workload has digests by a list of keys that the present
// controller never saw. So it cannot tell other keys from keys that were removed without a time.
func (h *history) keysUnseen(name string) bool {
	life, replaced := h.relisted[name]
	return replaced && h.life > life
}

// knowsWorkload reports whether the running controller has been shown a workload; true without one.
func (h *history) knowsWorkload(w drawnWorkload) bool {
	return h.c == nil || slices.ContainsFunc(h.c.state.Keys(namespace), func(key workload.Key) bool {
		return plural(key.Kind) == w.resource && key.Name == w.name
	})
}

// noteRelisted notes that the ledger of a workload has digests by a list of keys that is replaced
// now. A controller replaces the digest of a source when it compares the workload by the present
// keys. That of a deleted source stays until the source is recreated.
func (h *history) noteRelisted(name string) {
	if h.relistedIn == nil {
		h.relistedIn = map[string]map[simapi.Source]uint64{}
	}
	if h.relistedIn[name] == nil {
		h.relistedIn[name] = map[simapi.Source]uint64{}
	}
	for _, src := range sources() {
		if _, before := h.relistedIn[name][src]; !before {
			h.relistedIn[name][src] = h.server.Version()
		}
	}
}

// cameBackRelisted reports whether a list of keys was replaced before a source was recreated, and
// the running controller was shown no deletion of it since its last snapshot. If no controller has
// compared the two between, the ledger has a digest of the listed keys only. So nothing shows
// whether the other keys of the recreated source are as before.
func (o *oracle) cameBackRelisted(w *workloadTruth, src simapi.Source, l *look) bool {
	_, shown := l.departed[src]
	_, known := l.known[src]
	relisted, was := o.h.relistedIn[w.name][src]
	return known && !shown && was && o.sources[src].made > relisted
}

// mayHideRemoval reports whether a change that the running controller was not shown may be one that only
// removed keys, because the list of keys of the workload only excludes some. The time of the data may
// then be that of an excluded key that is gone, so no age of Pods shows that they have the present data.
// The same applies to data that an earlier ledger lacks which another client put back, if it is no newer:
// two clocks may have recorded the times of the sources, in whole seconds.
func (o *oracle) mayHideRemoval(w *workloadTruth, l *look, src simapi.Source, c change) bool {
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	if err != nil || c.version > l.live[src.Resource] {
		return false
	}
	putBack, lacks := w.putBack[src]
	return lacks && o.latestShown(src, l).Unix() <= putBack || strings.Contains(obj.GetAnnotations()[annotations.Keys], src.String()+"=!")
}

// chooseKeys changes which keys count for a workload.
func (u *users) chooseKeys(w drawnWorkload) bool {
	rules := keyRules()
	return u.countKeys(w, rules[u.h.rand.IntN(len(rules))])
}

// isReplaced reports whether a rule has a list of keys, and is not the next one.
func isReplaced(rule, next string) bool { return strings.Contains(rule, "=") && rule != next }

func (u *users) countKeys(w drawnWorkload, rule string) bool {
	if obj, err := u.h.server.Get(w.resource, inShop(w.name)); err == nil && isReplaced(obj.GetAnnotations()[annotations.Keys], rule) {
		if u.h.relisted == nil {
			u.h.relisted = map[string]int{}
		}
		life := u.h.life
		if !u.h.knowsWorkload(w) {
			life-- // a controller that has just begun is shown only what comes now
		}
		// The ledger has digests by the first list that was replaced since.
		if first, before := u.h.relisted[w.name]; !before || life < first {
			u.h.relisted[w.name] = life
		}
		u.h.noteRelisted(w.name)
	}
	return u.edit(w, func(obj simapi.Object) {
		own := annotationsOf(obj)
		if own[annotations.Keys] = rule; rule == "" {
			delete(own, annotations.Keys)
		}
		obj.SetAnnotations(own)
	})
}
