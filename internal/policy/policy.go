// Package policy decides which sources concern a workload: it reads its annotations and applies the
// rules. It does not know whether any source changed.
package policy

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// Policy contains the annotations of one workload. The zero Policy selects no source.
type Policy struct {
	// kinds are in the order of the table of sources.
	kinds [source.KindCount]kindPolicy

	// byDefault is whether the annotations of the namespace opt in workloads whose own annotations
	// do not decide that.
	byDefault  toggle
	mode       setMode
	keys       KeyRule
	settle     setDuration
	pause      setDuration
	churn      setLimit
	window     setWindow
	approval   approval
	rollout    RolloutStrategy
	wave       setWave
	waves      annotations.Kept
	rolloutSet bool
	sources    setSelector
}

// kindPolicy is the part of a Policy for one kind of source.
type kindPolicy struct {
	// optsSet and excludedSet report whether there were annotations for it.
	optsSet, excludedSet bool

	entries  *annotations.NameList
	excluded *annotations.NameSet
	search   bool
	auto     toggle
	typed    toggle
}

// setSelector selects sources of the kinds that have labels. It is set if an annotation is there,
// valid or not.
type setSelector struct {
	selector *annotations.Selector
	set      bool
}

// toggle distinguishes "set to false" from "not set": only the former opts out if all workloads are
// opted in.
type toggle uint8

const (
	unset toggle = iota
	off
	on
)

// setDuration is a duration with the object whose annotation sets it, if any does.
type setDuration struct {
	value time.Duration
	on    place
}

// setLimit is a limit with the object whose annotation sets it.
type setLimit struct {
	value Limit
	set   bool
	on    string
}

// setWindow is the text of windows, valid or not, with the object whose annotation sets them. The
// text is empty if none does.
type setWindow struct{ text, on string }

// RolloutStrategy is how an Argo Rollout is reloaded.
type RolloutStrategy uint8

const (
	// RolloutTemplate puts the mark into the pod template, so that the steps of the Rollout apply.
	RolloutTemplate RolloutStrategy = iota
	// RolloutRestart restarts the Pods without a change of the template.
	RolloutRestart
)

// String returns the value of the annotation.
func (s RolloutStrategy) String() string {
	if s == RolloutRestart {
		return "restart"
	}
	return "rollout"
}

// Settle returns the settle period of the workload, if its annotations set one.
func (p Policy) Settle() (time.Duration, bool) {
	return p.settle.value, p.settle.on != nowhere
}

// SettleBy returns what sets the settle period of the workload, if its annotations do.
func (p *Policy) SettleBy() string { return annotations.Settle + " on " + p.settle.on.String() }

// PausePeriod returns how long a Deployment stays paused after a reload, if at all.
func (p Policy) PausePeriod() (time.Duration, bool) {
	return p.pause.value, p.pause.on != nowhere
}

// Wave returns the wave of the workload.
func (p *Policy) Wave() int { return int(p.wave.value) }

// WaveSetBy returns what sets that wave.
func (p *Policy) WaveSetBy() string { return annotations.Wave + " on " + p.wave.on.String() }

// Waves returns how the annotations of a namespace set that its workloads are rolled one after the
// other.
func (p *Policy) Waves() annotations.Waves { return p.waves.Waves() }

// Churn returns how often the workload may be reloaded, and what sets that, if annotations do.
func (p *Policy) Churn() (limit Limit, setBy string, set bool) {
	return p.churn.value, annotations.Churn + " on " + p.churn.on, p.churn.set
}

// Window returns the text of the windows in which the workload may be reloaded, valid or not, and
// what sets them. It is empty if no annotation does.
func (p *Policy) Window() (text, setBy string) {
	return p.window.text, annotations.Window + " on " + p.window.on
}

// RolloutStrategy returns how an Argo Rollout is reloaded.
func (p Policy) RolloutStrategy() RolloutStrategy {
	return p.rollout
}

// NoPolicy is the policy of a workload that no source concerns, even if all workloads are opted in.
func NoPolicy() Policy {
	var p Policy
	for i := range p.kinds {
		p.kinds[i] = kindPolicy{optsSet: true, auto: off}
	}
	return p
}

// ByItself is the policy without the defaults of its namespace and --auto-reload-all.
func (p Policy) ByItself() Policy {
	for i := range p.kinds {
		if k := &p.kinds[i]; k.auto == unset && k.typed == unset {
			k.auto = off
		}
	}
	return p
}

// Over returns the policy of an object, with defaults from another policy: for example from the
// annotations of its pod template.
func (p Policy) Over(below Policy) Policy {
	for i := range p.kinds {
		p.kinds[i] = p.kinds[i].over(below.kinds[i])
	}
	if p.settle.on == nowhere {
		p.settle = below.settle
	}
	if p.mode.on == nowhere {
		p.mode = below.mode
	}
	p.keys = p.keys.over(below.keys)
	if p.pause.on == nowhere {
		p.pause = below.pause
	}
	if !p.churn.set {
		p.churn = below.churn
	}
	if p.window.text == "" {
		p.window = below.window
	}
	p.approval = p.approval.over(below.approval)
	if p.wave.on == nowhere {
		p.wave = below.wave
	}
	if !p.sources.set {
		p.sources = below.sources
	}
	if !p.rolloutSet {
		p.rollout, p.rolloutSet = below.rollout, below.rolloutSet
	}
	return p
}

func (k kindPolicy) over(below kindPolicy) kindPolicy {
	excluded, excludedSet := k.excluded, k.excludedSet
	if !excludedSet {
		excluded, excludedSet = below.excluded, below.excludedSet
	}
	if !k.optsSet {
		k = below
	}
	k.excluded, k.excludedSet = excluded, excludedSet
	return k
}

// Reusing returns the policy with the lists of a known one that are equal, so that their remembered
// answers are kept.
func (p Policy) Reusing(known *Policy) Policy {
	for i := range p.kinds {
		p.kinds[i].entries = p.kinds[i].entries.Reusing(known.kinds[i].entries)
	}
	return p
}

// Equal reports whether two policies are equal.
func (p Policy) Equal(other Policy) bool {
	return p.SameSources(other) && p.keys.Equal(other.keys) && p.mode == other.mode && p.settle == other.settle && p.pause == other.pause && p.churn == other.churn && p.window == other.window && p.approval == other.approval && p.wave == other.wave && p.waves == other.waves && p.rollout == other.rollout
}

// SameSources reports whether two policies select the same sources, even if they differ in how to
// reload.
func (p Policy) SameSources(other Policy) bool {
	if p.byDefault != other.byDefault || !p.sources.selector.Equal(other.sources.selector) {
		return false
	}
	for _, kind := range source.Kinds() {
		if !p.of(kind).equal(other.of(kind)) {
			return false
		}
	}
	return true
}

// Widens reports whether the policy selects a source that an earlier one did not. Earlier changes
// of that source roll no workload.
func (p Policy) Widens(earlier Policy, autoReloadAll bool) bool {
	if p.sources.selector != nil && !p.sources.selector.Equal(earlier.sources.selector) {
		return true
	}
	for _, kind := range source.Kinds() {
		now, before := p.of(kind), earlier.of(kind)
		if now.search && !before.search || now.optedIn(p.ruleByDefault(autoReloadAll)) != 0 && before.optedIn(earlier.ruleByDefault(autoReloadAll)) == 0 ||
			!now.excluded.HasAll(before.excluded) || !before.entries.HasAll(now.entries) {
			return true
		}
	}
	return false
}

func (k kindPolicy) equal(other kindPolicy) bool {
	return k.search == other.search && k.auto == other.auto && k.typed == other.typed &&
		k.excluded.Equal(other.excluded) && k.entries.Equal(other.entries)
}

// SearchesForNothingIfAll reports whether search has no effect if all workloads are opted in.
func (p Policy) SearchesForNothingIfAll() bool {
	searches := false
	for _, kind := range p.kinds {
		if kind.search && (kind.auto == on || kind.optedIn(RuleAutoAll) == 0) {
			return false
		}
		searches = searches || kind.search
	}
	return searches
}

func (p *Policy) of(kind source.Kind) kindPolicy {
	if !kind.Known() {
		// An unknown kind concerns no workload, even if all are opted in.
		return kindPolicy{auto: off}
	}
	policy := p.kinds[kind-1]
	if kind.ClusterScoped() && p.refusesEachKind() {
		policy.typed = off
	}
	return policy
}

// refusesEachKind reports whether the workload opts out for each kind of source that has an
// annotation of its own. Then the rest is not opted in by default either.
func (p *Policy) refusesEachKind() bool {
	for i, kind := range source.Kinds() {
		if !kind.ClusterScoped() && p.kinds[i].typed != off {
			return false
		}
	}
	return true
}

// setWave is a wave, and where an annotation sets it.
type setWave struct {
	value int32
	on    place
}
