// Package reload decides what to do about a workload: it compares the facts with the ledger,
// evaluates the evidence that Pods have the current data, and chooses the mark of a reload. It
// neither collects facts nor sends requests.
package reload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Facts are the input of a decision. There are many fields because Decide gets nothing else: no
// client and no clock.
type Facts struct {
	Settings
	Installation
	Workload workload.Workload
	Seen     WorkloadSeen
	// Version is the newest version of the workload or of any source at that time.
	Version uint64
	// Remembered is the text of the ledger that we last wrote or accepted, or that another client
	// removed before, empty if there was none since the start.
	Remembered string
	// Concerns are the sources that exist and concern the workload, sorted.
	Concerns []Concern
	// Spared are the existing sources that the workload references or names, but that do not
	// concern it.
	Spared []source.LocalKey
	// Left are those of them that earlier labels may have selected.
	Left []Left
	// Unselected are such sources that the selectors of the controller exclude.
	Unselected []source.LocalKey
	// Unlabeled are the Unselected that would seem to have lost their labels if they were selected now.
	Unlabeled []source.LocalKey
	// Gone are the sources whose deletion the watch has shown.
	Gone map[source.LocalKey]Departure
	// SelectedAt is the earliest time at which the namespace of the workload was provably selected;
	// zero if all namespaces are.
	SelectedAt time.Time
	// SelectedIn is the version in which a watch has shown that the namespace of the workload was
	// selected, 0 if none has: before it, no source concerned the workload.
	SelectedIn uint64
	// OptedInByNamespaceAt is the earliest time since which the annotations of the namespace provably
	// opt in its workloads, or leave that to --auto-reload-all; zero if nothing proves one.
	OptedInByNamespaceAt time.Time
	// Pods are nil until they were listed.
	Pods *Pods
	// Now is the time by the clock of the controller; zero if no time counts as the future.
	Now time.Time
	// Waited reports whether Reroll has waited long enough for a rollout in progress, or for
	// another installation.
	Waited bool

	lookups *lookups
	// concealed reports whether the digests of sources of other namespaces are those for ledgers.
	concealed bool
}

// Settings are the settings that decide about a workload. There are many fields because most are
// flags, with what the annotations of the namespace set.
type Settings struct {
	// AutoReloadAll reports whether workloads are opted in unless they opt out.
	AutoReloadAll bool
	// Keys is which keys of a source count, unless annotations set that.
	Keys policy.KeyMode
	// OnCreate and OnDelete select whether a source that was created, or deleted, is a change.
	OnCreate, OnDelete bool
	// SettlePeriod is the settle period of the workload. Sources and workloads that were created
	// within it belong together.
	SettlePeriod time.Duration
	// Unread are the kinds of sources that are not watched, so that a deletion is not noticed.
	Unread []source.Kind
	// Selective reports whether sources concern workloads only if their labels match a selector.
	Selective bool
	// NotifyOnly means that a receiver is notified of changes and acts on them.
	NotifyOnly bool
	// Limit is how often each workload may be reloaded, unless annotations set another limit, and
	// Defaults are what the annotations of its namespace set.
	Limit    policy.Limit
	Defaults policy.Policy
	// Window are the windows in which workloads may be reloaded, unless annotations set others.
	Window string
	// Approval reports whether each reload has to be approved.
	Approval bool
	// Mode is what follows from a change, unless annotations set something else.
	Mode policy.Mode
	// Waves are how workloads are rolled one after the other, unless annotations set something
	// else.
	Waves annotations.Waves
	// Strategy is how reloads are marked, and where Reloader has marked them.
	Strategy StrategyChoice
	// OnRevert is what to do when another client has removed every mark.
	OnRevert OnRevert
	// SecretMarks is what the marks of Secrets show.
	SecretMarks digest.SecretMarks
}

// Installation is what an installation keeps in the cluster.
type Installation struct {
	// Key is the key for the digests of Secrets, with which the sources were read, and Instance its
	// ID.
	Key      digest.Key
	Instance string
	// Installed is when that key was created: see Began.
	Installed time.Time
	// Coverage is since when the present settings apply to the objects.
	Coverage Coverage
	// Freeze is the text of the freeze of all namespaces, valid or not; empty without one.
	Freeze string
	// Others are the namespaces of the other installations that are known, by the ID of their keys.
	Others map[string]string
}

// Action is the result of a decision.
type Action uint8

const (
	// Nothing has to be written.
	Nothing Action = iota
	// ListPods means that the age of the Pods decides. The caller lists them and decides again.
	ListPods
	// AwaitRollout means that the age of the Pods decides, once the rollout in progress has ended.
	AwaitRollout
	// AwaitRun means that another run of the workload has to end first, or that a suspended run has
	// begun.
	AwaitRun
	// Record writes the ledger and leaves the pod template unchanged.
	Record
	// Reload changes the pod template and writes the ledger, in one request.
	Reload
	// Resume ends a pause that came with a reload. It follows from the workload alone, and from no
	// decision.
	Resume
)

// String returns a short description of the action.
func (a Action) String() string {
	switch a {
	case ListPods:
		return "check the age of the Pods"
	case AwaitRollout:
		return "wait for the rollout"
	case AwaitRun:
		return "wait for a run"
	case Record:
		return "record"
	case Reload:
		return "reload"
	case Resume:
		return "resume"
	default:
		return "nothing"
	}
}

// Decision is the conclusion from the facts, with the reason. It has many fields because some of
// them belong to one action only.
type Decision struct {
	Action Action
	// Why is one sentence for users.
	Why string
	// Changes are the sources whose data caused the reload, ordered by the time of their change.
	Changes []Concern
	// Ledger is the ledger to write, if any.
	Ledger ledger.Ledger
	// ChurnUntil is until when earlier reloads count against the limit of reloads, by the ledger
	// that is in force. It is known for every action.
	ChurnUntil int64
	// Certificates are those that the Pods were last rolled with, by that ledger.
	Certificates map[string]source.Certificate
	// Restores reports whether another client replaced our ledger on the object, and writing
	// restores it.
	Restores bool
	// Doubt is why another client will probably remove the mark of a reload, if that applies to
	// each strategy.
	Doubt string
	// Undecided are Secrets for which nothing shows whether they changed: the digest key of the
	// ledger is lost, and they have no later time. They are recorded as unchanged.
	Undecided int
	// Unproven are sources that were written after Pods started, without evidence that their data
	// changed. They count as unchanged.
	Unproven []source.Key
	// Found reports whether the decision records a run that was created before. Later changes are
	// decided on next.
	Found bool
	// TooNew reports whether the workload is left alone because a newer version of Reroll wrote the
	// ledger.
	TooNew bool
	// LeftTo is the namespace of another installation that reloads the workload; empty if this one
	// does. Behind reports whether that has not reacted to a change yet.
	LeftTo string
	Behind bool
	// Reverted is set if another client removed our mark.
	Reverted *Revert
	// BesideReloader reports whether Reloader rolls the workload, too.
	BesideReloader bool
	// OthersRollout are the sources whose data is recorded because the rollout of another client
	// brings it. rollout.KeptOnPurpose returns the Pods that do not get it.
	OthersRollout []source.Key
}

// Decide compares the current data of the sources with the data that the Pods were last rolled
// with. The result does not depend on which event triggered it, or on how many events were missed.
func Decide(f Facts) Decision {
	f.lookups = nil // the facts behind them may have changed
	base := f.base()
	d := f.withOthersRollout(f.decide(base))
	d.BesideReloader, d.ChurnUntil, d.Certificates = f.besideReloader(), base.ledger.ChurnUntil, base.ledger.Certificates
	return d
}

func (f *Facts) decide(base base) Decision {
	switch {
	case errors.Is(base.err, ledger.ErrNewerFormat):
		return Decision{Why: base.err.Error() + "; Reroll leaves it alone", TooNew: true}
	case f.hasNothingToCompare():
		return Decision{Why: "no source concerns it"}
	}
	if d, left := f.leftToOther(); left {
		return d
	}

	var tally tally
	for _, kind := range source.Kinds() {
		f.compareKind(kind, base, &tally)
	}
	for _, key := range f.Spared {
		if _, ok := base.ledger.Entries[key]; ok {
			tally.dropped++
		}
	}
	f.findGone(base, &tally)
	f.disown(base, &tally)
	slices.SortStableFunc(tally.changes, laterLast)
	slices.SortStableFunc(tally.reverted, laterLast)

	next := f.ledger(tally.completed(base, f), f.missingFor(base, &tally))
	tally.uncertified = !maps.Equal(next.Certificates, base.ledger.Certificates)
	made, noted, found := f.unnoted(base)
	switch {
	case found:
		return f.note(tally.changes, made, noted)
	case len(tally.changes) > 0 && f.Workload.Runs != nil:
		return f.runs(tally.changes, base, next)
	case len(tally.changes) > 0:
		next.Counter++
		var doubt string
		next.Step, doubt = f.step(next.Step, tally.changes)
		return Decision{Action: Reload, Why: changedSentence(tally.changes), Changes: tally.changes, Ledger: next, Restores: base.restore, Doubt: doubt}
	case tally.needsPods > 0:
		return Decision{Action: ListPods, Why: fmt.Sprintf("the age of its Pods must show whether they use the current data of %d of its sources", tally.needsPods)}
	case len(tally.reverted) > 0:
		return f.afterRevert(&tally, base, next)
	case tally.waiting > 0:
		return Decision{Action: AwaitRollout, Why: fmt.Sprintf("its pod template may have been reverted; when its rollout has ended, the age of its Pods shows whether they use the current data of %d of its sources", tally.waiting)}
	case tally.records() || base.restore:
		return Decision{Action: Record, Why: tally.recordSentence(base), Ledger: next, Restores: base.restore, Undecided: tally.undecided, Unproven: tally.unproven}
	default:
		return Decision{Why: "its sources did not change since its Pods were last rolled"}
	}
}

// hasNothingToCompare reports whether no source concerns the workload, and neither a ledger nor a
// source that is missing by now shows that one did.
func (f *Facts) hasNothingToCompare() bool {
	if len(f.Concerns) > 0 || f.Workload.LedgerText != "" || f.Workload.Runs.Holds() {
		return false
	}
	if f.Remembered != "" {
		return !f.OnDelete
	}
	return !f.LacksDeleted()
}

// compareKind compares the sources of one kind with the ledger.
func (f *Facts) compareKind(kind source.Kind, base base, t *tally) {
	var concerns []Concern
	for _, c := range f.Concerns {
		if c.Source.Key.Kind == kind {
			concerns = append(concerns, c)
		}
	}
	all, aggregated := base.ledger.Aggregates[kind]
	if !aggregated {
		for _, c := range concerns {
			t.add(&c, f.compareWithLedger(&c, base))
		}
		return
	}
	concerns, foreign := splitForeign(concerns)
	for _, c := range foreign {
		t.add(&c, f.compareWithLedger(&c, base))
	}
	same, form := ledger.Aggregate(kind, entriesOf(concerns)) == all.Digest, otherData
	if !same {
		form = f.formOfAll(kind, concerns, all.Digest)
	}
	waits := -1 // for whichever source a reload waits, Pods lack the latest data, too
	if all.Digest.IsZero() {
		slices.SortStableFunc(concerns, laterLast)
		waits = len(concerns) - 1
	}
	for i, c := range concerns {
		switch {
		case i == waits:
			t.add(&c, f.delayed(&c, base)) // with whichever key
		case otherKey(kind, base, f):
			t.add(&c, f.underOtherKey(&c, base))
		case same:
			t.add(&c, f.sameData(&c, base))
		case form != otherData:
			t.add(&c, f.otherwiseCounted(&c, base, form))
		default:
			t.add(&c, f.mayHaveChanged(&c, base, len(concerns) == all.Count))
		}
	}
	if !same {
		t.recorded++ // even if the ledger only shows that a source was deleted
	}
}
