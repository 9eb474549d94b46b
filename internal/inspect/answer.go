package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// State is the state of a workload, compared with the data of its sources.
type State uint8

// The states. Only UpToDate is good. Unknown is neither good nor bad.
const (
	// UpToDate means that the Pods of the workload have the data of its sources.
	UpToDate State = iota
	// Waiting means that a change was made just now, or that something else has to end first.
	Waiting
	// InProgress means that a rollout is under way.
	InProgress
	// Stuck means that a rollout has exceeded its deadline.
	Stuck
	// OutOfDate means that Pods have previous data, and that no rollout to replace them is known.
	OutOfDate
	// Reverted means that another writer removed the mark of a reload.
	Reverted
	// Missing means that a source that the workload requires does not exist.
	Missing
	// Unknown means that the permissions of the user do not show the state.
	Unknown
	// NotOptedIn means that no source rolls the workload.
	NotOptedIn
)

// String returns the state in one or two words.
func (s State) String() string {
	words := [...]string{"up-to-date", "waiting", "in-progress", "stuck", "out-of-date", "reverted", "missing", "unknown", "not-opted-in"}
	if int(s) < len(words) {
		return words[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Answer has everything that is known about one workload. It has many fields because each entry of
// the pages and of the JSON comes from one.
type Answer struct {
	Workload workload.Workload
	State    State
	// Detail explains the state, in a phrase.
	Detail string
	// Cause is the reason why a rollout has not completed, if that is known.
	Cause rollout.Cause
	// Since is the time since when Pods lack data: the data was written then, or a receiver was
	// notified of the data then.
	Since    time.Time
	Decision reload.Decision
	// Gate is whether a reload may start now.
	Gate gate.Answer
	// Consent is the digest that a user approves on the workload.
	Consent digest.Digest
	// Approvals describe what has to be approved before a reload.
	Approvals []string
	// Freezes describe why no reload starts now, if users froze reloads.
	Freezes []string
	// Waves describe how the workload is rolled after others, and what sets that, for each source.
	// Fleets are these sources, with its namespace.
	Waves  []string
	Fleets []FleetKey
	// Mode describes what follows from a change, empty for a reload by default.
	Mode string
	// Windows describe when the workload may be reloaded, and what sets that. Schedule is the text of
	// those of the workload, empty without any.
	Windows  []string
	Schedule string
	Ledger   Ledger
	Sources  []Source
	// Missing are the sources that the workload requires and that do not exist. Unmatched are the
	// expressions in the lists of the workload that match no source.
	Missing   []reload.MissingSource
	Unmatched []policy.NamedSource
	// Unknown are the reasons why something is unknown.
	Unknown []string
	// LeftOut is the reason why the controller does not reconcile the workload, or empty.
	LeftOut string
	// Pods is nil if the Pods were not listed.
	Pods *Ages
}

// Ledger is the ledger of the workload.
type Ledger struct {
	ledger.Ledger
	// There reports whether the workload has a ledger, and Err is the reason why the ledger cannot
	// be used.
	There bool
	Err   error
}

// Ages are the number of Pods and the start of the oldest one.
type Ages struct {
	Count  int
	Oldest time.Time

	all []Pod
}

// Source is a source that the workload references or names. It has many fields because each entry of
// a source on the pages and in the JSON comes from one.
type Source struct {
	Key     source.LocalKey
	Uses    []workload.Use
	Verdict policy.Verdict
	// Unread reports whether the user may not read sources of this kind. Absent reports whether the
	// source does not exist.
	Unread, Absent bool
	// Unasked reports whether it is unread because too many sources of other namespaces are named.
	Unasked bool
	// Deleted reports whether the ledger shows that the source existed.
	Deleted bool
	// Near are existing names, of which the name of the source may be a misspelling.
	Near []string
	// Ignored reports whether the controller is configured not to read sources of this kind.
	Ignored bool
	// Outside reports whether the source is in another namespace that the controller does not watch.
	Outside bool
	// Grants is why no ReferenceGrant allows it, or why that is unknown; empty if they do not count.
	// Ungranted reports whether it is unknown.
	Grants    string
	Ungranted bool
	// Match reports whether the source has the match annotation.
	Match            bool
	Content          Content
	Written, Created time.Time
	// Older is the number of Pods that started before the data was written, or -1 if the Pods were
	// not listed.
	Older    int
	Mistakes []annotations.Mistake
	// Keys are the keys that count, with the reason. Skipped reports whether the source was written
	// after the ledger, and only other keys can have changed.
	Keys    policy.KeyVerdict
	Skipped bool
	// existing are the names of its keys.
	existing []string
}

// Content is the result of comparing the data of a source with the ledger.
type Content uint8

// The results of the comparison.
const (
	// NotCompared is for a source that does not concern the workload.
	NotCompared Content = iota
	AsInLedger
	OtherThanInLedger
	NotInLedger
	// Keyed is for a Secret whose digest cannot be compared without the key of the controller.
	Keyed
)

// Evaluation answers questions about all workloads that were read.
type Evaluation struct {
	objects *Objects
	state   *state.State
	pods    Pods
	now     time.Time
	// fleets are the workloads that sources roll one after the other.
	fleets map[FleetKey]*gate.Fleet
}

// Evaluate puts the objects into the state that a controller has after a start, before any event.
func (o *Objects) Evaluate(pods Pods, now time.Time) *Evaluation {
	if o.live != nil {
		return &Evaluation{objects: o, state: o.live.state, pods: pods, now: now, fleets: map[FleetKey]*gate.Fleet{}}
	}
	st := state.New(o.settings.Rules.AutoReloadAll)
	st.CountKeys(o.settings.Rules.Keys)
	for name, known := range o.namespaces {
		st.PutDefaults(name, state.Defaults{Policy: known.Defaults, OptsInSince: known.OptsInSince})
	}
	for _, w := range o.workloads {
		if w.TemplateOwner != nil && o.settings.reads(w.Key.Kind) {
			st.PutTemplateUser(w, false)
		}
	}
	for _, w := range o.workloads {
		if w.TemplateOwner == nil {
			st.PutWorkload(w, false)
		}
	}
	for _, src := range o.sources {
		if o.settings.Rules.ReadsSource(src.Key.Kind) {
			st.PutSource(src, false)
		}
	}
	st.Unite()
	if o.grants != nil && o.settings.Rules.ReferenceGrants {
		st.SetGrants(o.grants.sets, o.grants.known)
	}
	return &Evaluation{objects: o, state: st, pods: pods, now: now, fleets: map[FleetKey]*gate.Fleet{}}
}

// OptedIn returns the workloads that some source could roll, in a fixed order. The result includes
// workloads that the controller does not reconcile: no controller rolls them, so they are not up to
// date.
func (e *Evaluation) OptedIn() []workload.Key {
	var keys []workload.Key
	for key, w := range e.objects.all("") {
		if _, left := e.objects.parentOf(key); left {
			continue // the answer about its owner covers it
		}
		known, ok := e.state.Workload(key)
		if ok && !w.Deleting && e.objects.settings.asksFor(&known) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, workload.CompareKeys)
	return keys
}

// Of answers questions about one workload, which must exist.
func (e *Evaluation) Of(key workload.Key) Answer {
	facts, _ := e.state.Facts(key)
	e.objects.addRuns(&facts.Workload)
	s := e.objects.settings
	a := Answer{Workload: facts.Workload}
	a.LeftOut = s.passesOver(e.objects, key)
	a.readLedger()
	e.complete(&facts, &a)
	a.Sources = e.sources(&facts, &a)

	a.Decision = reload.Decide(facts)
	if a.Decision.Action == reload.ListPods {
		if pods := e.ask(&a); pods != nil {
			facts.Pods = pods
			a.Decision = reload.Decide(facts)
		}
	}
	if a.Decision.Action == reload.Reload && !a.Decision.Found && !s.Rules.NotifyOnly && a.LeftOut == "" {
		a.Gate = e.turn(&facts, a.Decision)
	}
	if !s.Rules.NotifyOnly {
		e.waves(&facts, &a)
		for _, frozen := range gate.FreezesOf(&facts) {
			a.Freezes = append(a.Freezes, frozen.Describe(e.now.Location()))
		}
		a.Mode = gate.DescribeMode(&facts)
		a.Windows = gate.DescribeWindows(&facts, e.now.Location())
		a.Schedule, _ = facts.Windows()
		a.Approvals, a.Consent = gate.DescribeApproval(&facts), gate.ConsentTo(&facts, &a.Decision)
	}
	e.unseen(&a)
	e.evidence(&a)
	e.conclude(&facts, &a)
	if a.State != Waiting && a.Gate.By != gate.Notify {
		a.Gate = gate.Answer{} // nothing waits for the gate alone
	}
	return a
}

func (a *Answer) readLedger() {
	if a.Workload.LedgerText == "" {
		return
	}
	a.Ledger.There = true
	a.Ledger.Ledger, a.Ledger.Err = workload.ReadLedger(a.Workload.LedgerText, &a.Workload)
}

// complete adds the settings of the controller to the facts. Here, a Secret that cannot be compared
// counts as unchanged, because evidence checks the age of the Pods later.
func (e *Evaluation) complete(f *reload.Facts, a *Answer) {
	s := e.objects.settings
	s.Rules.Complete(f, reload.Installation{Key: s.Key, Installed: s.Installed, Coverage: s.Coverage, Others: s.Others, Freeze: s.Freeze}, e.now)
	f.Unread = slices.Clone(f.Unread)
	f.LeaveOut(e.objects.leftOut)
	if s.Controller == "" && a.Ledger.There {
		f.Installed = time.Time{} // the controller that wrote the ledger was installed before
	}
	for _, kind := range sourceKinds() {
		if e.unread(kind) && !slices.Contains(f.Unread, kind) {
			f.Unread = append(f.Unread, kind)
		}
	}
	a.Missing, a.Unmatched = f.Missing(), f.Unmatched()
	if s.NoKey == "" {
		return
	}
	f.Instance = a.Ledger.Instance
	f.Concerns = slices.DeleteFunc(f.Concerns, func(c reload.Concern) bool {
		_, all := a.Ledger.Aggregates[source.Secret]
		return all && c.Source.Key.Kind == source.Secret && !c.Source.Key.IsForeign()
	})
	for i := range f.Concerns {
		c := &f.Concerns[i]
		if digest, ok := a.Ledger.Entries[c.Source.Key.Local()]; ok && c.Source.Key.Local().Keyed() {
			c.Assume(digest)
		}
	}
}

// unread reports whether the controller reads a kind of source that the user may not read.
func (e *Evaluation) unread(kind source.Kind) bool {
	return e.objects.unread[kind.Resource()] != nil && !kind.Reported() && !e.objects.settings.ignores(kind)
}

// ask returns the Pods of the workload, or nil if the user may not list Pods. If Pods cannot be
// listed or none are found, ask records why something is unknown.
func (e *Evaluation) ask(a *Answer) *reload.Pods {
	pods, err := e.list(a)
	if err != nil {
		a.doubt(err.Error())
	}
	a.doubtUnlisted()
	return pods
}

func (e *Evaluation) list(a *Answer) (*reload.Pods, error) {
	found, err := podsOf(&a.Workload, e.pods)
	if err != nil {
		return nil, err
	}
	var pods reload.Pods
	ages := &Ages{all: found}
	for _, pod := range found {
		pods.Add(pod.StartedPod)
	}
	ages.Count, ages.Oldest = pods.Count, pods.Oldest
	a.Pods = ages
	return &pods, nil
}

func (a *Answer) doubt(why string) {
	if !slices.Contains(a.Unknown, why) {
		a.Unknown = append(a.Unknown, why)
	}
}
