package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// State is how a workload stands to its sources.
type State uint8

// The states. Only UpToDate is good; Unknown is neither.
const (
	// UpToDate means that its pods have what its sources hold.
	UpToDate State = iota
	// Waiting means that a change was made just now, or that something else has to end first.
	Waiting
	// InProgress means that a rollout is under way.
	InProgress
	// Stuck means that a rollout has exceeded its deadline.
	Stuck
	// OutOfDate means that pods are behind, and that nothing is known to be on its way.
	OutOfDate
	// Reverted means that somebody took the mark of a reload away.
	Reverted
	// Missing means that a source that it requires does not exist.
	Missing
	// Unknown means that the permissions of the user do not show the state.
	Unknown
	// NotOptedIn means that nothing rolls it.
	NotOptedIn
)

// String returns the state as a word or two.
func (s State) String() string {
	words := [...]string{"up-to-date", "waiting", "in-progress", "stuck", "out-of-date", "reverted", "missing", "unknown", "not-opted-in"}
	if int(s) < len(words) {
		return words[s]
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Answer is what is known about one workload.
type Answer struct {
	Workload workload.Workload
	State    State
	// Detail explains the state, in a phrase.
	Detail string
	// Cause is why a rollout has not ended, if that is known.
	Cause rollout.Cause
	// Since is when the data was written that Pods do not have, or when a receiver was notified of
	// it.
	Since    time.Time
	Decision reload.Decision
	Ledger   Ledger
	Sources  []Source
	// Missing are the sources that it requires and that do not exist, and Unmatched the expressions
	// in its lists that match none.
	Missing   []reload.MissingSource
	Unmatched []policy.NamedSource
	// Unknown are the reasons why something is unknown.
	Unknown []string
	// LeftOut is why the controller does not reconcile it.
	LeftOut string
	// Pods are nil as long as they were not listed.
	Pods *Ages
}

// Ledger is the one on the workload.
type Ledger struct {
	ledger.Ledger
	// There reports whether there is one, and Err why it cannot be used.
	There bool
	Err   error
}

// Ages are how many pods there are and since when.
type Ages struct {
	Count  int
	Oldest time.Time

	all []Pod
}

// Source is one that the workload references or names.
type Source struct {
	Key     source.LocalKey
	Uses    []workload.Use
	Verdict policy.Verdict
	// Unread reports whether its kind may not be read, and Absent that there is none of that name.
	Unread, Absent bool
	// Deleted reports whether the ledger shows that it existed.
	Deleted bool
	// Near are names that it may be a misspelling of.
	Near []string
	// Ignored reports whether the settings of the controller leave its kind out.
	Ignored bool
	// Match reports whether its owner has marked it to be found.
	Match            bool
	Content          Content
	Written, Created time.Time
	// Older of the Pods were started before the data was written; -1 if the Pods were not listed.
	Older    int
	Problems []annotations.Problem
}

// Content is how the data of a source stands to the ledger.
type Content uint8

// The ways it can.
const (
	// NotCompared is for a source that does not concern the workload.
	NotCompared Content = iota
	AsInLedger
	OtherThanInLedger
	NotInLedger
	// Keyed is for a Secret whose digest cannot be compared without the key of the controller.
	Keyed
)

// Evaluation answers about all workloads that were read.
type Evaluation struct {
	objects *Objects
	state   *state.State
	pods    Pods
	now     time.Time
}

// Evaluate puts what was read where the controller has it after a start, when it has seen nothing happen yet.
func (o *Objects) Evaluate(pods Pods, now time.Time) *Evaluation {
	st := state.New(o.settings.AutoReloadAll)
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
	return &Evaluation{objects: o, state: st, pods: pods, now: now}
}

// OptedIn are the workloads that some source could roll, in a fixed order, also if the controller does not reconcile them:
// nobody rolls them then, and that is not up to date.
func (e *Evaluation) OptedIn() []workload.Key {
	var keys []workload.Key
	for key, w := range e.objects.workloads {
		if _, left := e.objects.parentOf(key); left {
			continue // the answer about its owner covers it
		}
		known, ok := e.state.Workload(key)
		if ok && !w.Deleting && e.objects.settings.asksFor(&known) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b workload.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// Of answers about one workload, which has to be there.
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
	e.unseen(&a)
	e.evidence(&a)
	e.conclude(&facts, &a)
	return a
}

func (a *Answer) readLedger() {
	if a.Workload.LedgerText == "" {
		return
	}
	a.Ledger.There = true
	a.Ledger.Ledger, a.Ledger.Err = workload.ReadLedger(a.Workload.LedgerText, &a.Workload)
}

// complete adds the settings of the controller to the facts. A Secret that cannot be compared counts as unchanged
// here: the age of the Pods is checked later.
func (e *Evaluation) complete(f *reload.Facts, a *Answer) {
	s := e.objects.settings
	s.Rules.Complete(f, reload.Installation{Key: s.Key, Installed: s.Installed, Coverage: s.Coverage, Others: s.Others}, e.now)
	f.Unread = slices.Clone(f.Unread)
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
		return all && c.Source.Key.Kind == source.Secret
	})
	for i := range f.Concerns {
		src := &f.Concerns[i].Source
		if digest, ok := a.Ledger.Entries[src.Key.Local()]; ok && src.Key.Kind == source.Secret {
			src.Digest = digest
		}
	}
}

// unread reports whether sources of a kind may not be read, though the controller reads them.
func (e *Evaluation) unread(kind source.Kind) bool {
	return e.objects.unread[kind.Resource()] != nil && !kind.Reported() && !e.objects.settings.ignores(kind)
}

// ask returns the pods of the workload; nil if they may not be listed, which is noted. So is that none of them was found.
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
