// Package controller carries decisions out. It reconciles one workload at a time: gather the facts,
// decide, pass the gates, write once, and track the rollout. It does not know when a workload is
// rolled (package reload), what it waits for (package gate), or how a kind is written (package
// kinds).
package controller

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// Options configure a controller.
type Options struct {
	// Settings are shared with the commands that explain decisions.
	rules.Settings
	// Namespace is where this installation keeps its key.
	Namespace string
	// AdoptRate is how many first ledgers are written per second for workloads that are not
	// reloaded.
	AdoptRate float64
	DryRun    bool
	// Classes reports whether SecretProviderClasses are sources, too.
	Classes bool
	// Receiver is notified of changes instead of a reload, with NotifyOnly; nil without a receiver.
	Receiver Receiver
	// GateURL is the program of --gate-url, which is asked before each reload; nil without one.
	GateURL GateURL
	// LoadKey is called once, when the workloads are known. It returns the key for the digests of
	// Secrets, and when the key was created.
	LoadKey func(context.Context) (digest.Key, time.Time, error)
	// LoadCoverage is called once, when this replica becomes the leader. It returns the time since
	// when the present settings apply. Nil means that nothing records it.
	LoadCoverage func(context.Context) (reload.Coverage, error)
	// Introduce is called before the first write, with the number of workloads and how many are
	// opted in.
	Introduce func(workloads, optedIn int)
	// Lead is called when the caches are synced, and returns when this replica is the leader, with
	// a function that reports whether it still is. Until then, Lead calls another each time it sees
	// another leader act. Nil means that there is no leader election.
	Lead func(ctx context.Context, another func()) (leads func() bool, err error)
	// Halts is where other programs read that no reload starts; nil means nowhere.
	Halts Halts
	// Freezes is where users freeze the reloads of all namespaces; nil means nowhere.
	Freezes Freezes
}

// workers is how many workloads are written at the same time. A write mostly waits for the API
// server, so the number limits the requests in flight and not the use of processors. With twice as
// many, a fan-out ends a little sooner. Under a lasting load, however, the watches of the API
// server then lag so much that half of all writes conflict.
const workers = 32

// Controller reloads workloads. Create it with New. It has many fields because it holds the parts
// together; each part has a file.
type Controller struct {
	opts  Options
	api   API
	kinds map[string]kinds.Kind
	// reconcilers are for the kinds that need more than reconcile.
	reconcilers map[string]func(context.Context, workload.Key) workqueue.Result
	clock       clock.Clock
	log         *slog.Logger
	report      Report
	counter     Counter

	// installation is complete when this replica is the leader.
	installation reload.Installation
	leadership
	queues

	state *state.State
	// classes are the SecretProviderClasses from which sources are made.
	classes *classes
	others  otherInstallations
	// jobs are the Jobs that claim to be created by Reroll.
	jobs *ownJobs
	// pending are the notices that wait until this replica is the leader.
	pending *pendingNotices
	// undecided is done when the log has reported that the digest key was replaced.
	undecided sync.Once
	// often finds workloads that are reloaded again and again.
	often *reloadCounts
	adopt *rate.Limiter
	// bundles reports whether all ClusterTrustBundles are known.
	bundles atomic.Bool
	// consents are the latest events about sources that allow no workload of another namespace.
	consents consentEvents
	// fleets are the workloads that are rolled one after the other.
	fleets fleets
	// storm has the latest reloads of the cluster.
	storm *storm
	// gateURLQuestions are the questions to the program of --gate-url, and its answers.
	gateURLQuestions *gateURLQuestions
	// freeze is the text of the freeze of all namespaces.
	freeze atomic.Pointer[string]
	// aloneUntil is until when the receiver gets one message for each workload. Only the worker
	// that sends messages uses it.
	aloneUntil time.Time

	// mu guards the records. Lock order: servedKind.mu, fleets.mu, storm.mu, classes.mu, mu, then the
	// state or a queue. Code that holds another lock takes none. No lock is held during a request.
	mu sync.Mutex
	// records contain the data about workloads that is not in the state. Blank is the record of a
	// workload without one, and is empty while the lock is not held.
	records map[workload.Key]*record
	blank   record
}

// leadership is whether this replica may decide, and whether it may write.
type leadership struct {
	// synced is closed when every watch has brought one complete snapshot.
	synced chan struct{}
	// leads reports whether this replica still is the leader.
	leads func() bool
	// acting reports that this replica has become the leader once. From then on it writes and
	// notifies.
	acting atomic.Bool
}

// queues are where workloads wait, each with workers of its own.
type queues struct {
	// queue is for workloads to reconcile.
	queue *workqueue.Queue
	// rollouts is for rollouts whose Pods are to be listed, or that are to be reported.
	rollouts *workqueue.Queue
	// notifications is for changes of which the receiver is to be notified.
	notifications *workqueue.Queue
	// pauses is for workloads that may have to be resumed.
	pauses *workqueue.Queue
	// questions is for workloads about which the program of --gate-url is to be asked again.
	questions *workqueue.Queue
}

// New returns a controller that has not started.
func New(opts Options, api API, c clock.Clock, log *slog.Logger, report Report, counter Counter) *Controller {
	byName := map[string]kinds.Kind{}
	for _, k := range opts.Kinds.Watched() {
		byName[k.Name] = k
	}
	q := workqueue.NewShared(c, workers)
	q.Observe(counter.Queued, counter.Waited)
	known := state.New(opts.AutoReloadAll)
	known.CountKeys(opts.Keys)
	if opts.ReferenceGrants {
		known.ReadGrants()
	}
	ctl := &Controller{
		opts: opts, api: api, kinds: byName, clock: c, log: log, report: report, counter: counter,
		leadership:       leadership{synced: make(chan struct{}), leads: func() bool { return true }},
		queues:           queues{queue: q, rollouts: workqueue.NewShared(c, rolloutWorkers), pauses: workqueue.NewShared(c, resumeWorkers), notifications: workqueue.New(c), questions: workqueue.New(c)},
		state:            known,
		classes:          newClasses(),
		jobs:             newOwnJobs(),
		pending:          newPendingNotices(),
		often:            newReloadCounts(c),
		adopt:            rate.NewLimiter(rate.Limit(opts.AdoptRate), 1),
		records:          map[workload.Key]*record{},
		storm:            newStorm(opts.Halt),
		gateURLQuestions: newGateURLQuestions(c),
		fleets:           fleets{of: map[string]map[source.Key]*fleet{}},
		others:           otherInstallations{byNamespace: map[string]string{}, reported: map[string]bool{}},
	}
	ctl.reconcilers = map[string]func(context.Context, workload.Key) workqueue.Result{kinds.Jobs().Name: ctl.reconcileJob}
	return ctl
}

// Run runs the controller until the context ends, and returns after the last write in flight.
func (c *Controller) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	err := c.prepare(ctx, &running)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	c.acting.Store(true)
	c.pending.emitAll()
	c.trackAll()
	c.accept(ctx)
	c.serve(ctx, &running)
	<-ctx.Done()
	return nil
}

// prepare returns when the caches are synced and this replica leads.
func (c *Controller) prepare(ctx context.Context, running *sync.WaitGroup) error {
	// Workloads come first: if a user starts the controller by hand, the log shows its scope before
	// the first write. That write may create the digest key, and without the key Reroll reads no
	// Secret.
	if !c.fill(ctx, running, append(c.namespaceFeeds(), c.workloadFeeds()...)) {
		return ctx.Err()
	}
	c.opts.Introduce(c.state.Counts(c.opts.NamespaceSelector != nil))
	var err error
	if c.installation.Key, c.installation.Installed, err = c.opts.LoadKey(ctx); err != nil {
		return err
	}
	c.installation.Key = c.installation.Key.Showing(c.opts.SecretMarks)
	if c.installation.Installed.IsZero() {
		c.installation.Installed = c.clock.Now() // a dry run without an installation: everything existed before
	}
	// Nothing is decided before the caches are synced. Otherwise a source that has not arrived yet
	// would count as deleted.
	if !c.fill(ctx, running, append(c.sourceFeeds(), c.classFeeds()...)) {
		return ctx.Err()
	}
	close(c.synced)
	if c.opts.Lead != nil {
		if c.leads, err = c.opts.Lead(ctx, c.anotherLeads); err != nil {
			return err
		}
	}
	if c.opts.LoadCoverage != nil {
		if c.installation.Coverage, err = c.opts.LoadCoverage(ctx); err != nil {
			return err
		}
	}
	c.learnFreeze(ctx)
	return nil
}

// serve starts the workers of all queues.
func (c *Controller) serve(ctx context.Context, running *sync.WaitGroup) {
	// The end of the context does not cancel writes, because without the response the outcome is
	// unknown.
	writing := context.WithoutCancel(ctx)
	c.queue.Begin()
	for _, d := range c.duties() {
		for range d.workers {
			running.Go(func() {
				d.queue.Serve(ctx.Done(), func(key workload.Key) workqueue.Result { return d.do(writing, key) })
			})
		}
	}
	if c.halts() {
		running.Go(func() { c.serveHalts(writing, ctx.Done()) })
	}
	if c.asksFreeze() {
		running.Go(func() { c.serveFreeze(writing, ctx.Done()) })
	}
	if c.opts.GateURL != nil {
		for range gateURLWorkers {
			running.Go(func() { c.serveGateURL(ctx) })
		}
	}
	if c.opts.Receiver != nil {
		running.Go(func() { c.serveReceiver(writing, ctx.Done()) })
	}
}

// duty is what workers do for each workload of a queue.
type duty struct {
	queue   *workqueue.Queue
	workers int
	do      func(context.Context, workload.Key) workqueue.Result
}

func (c *Controller) duties() []duty {
	all := []duty{
		{c.queue, workers, c.reconcileKey},
		{c.rollouts, rolloutWorkers, c.trackRollout},
		{c.pauses, resumeWorkers, c.endPause},
	}
	if c.opts.GateURL != nil {
		all = append(all, duty{c.questions, 1, c.askAboutAgain})
	}
	return all
}

// fill starts feeds and waits until each has brought a complete snapshot. It returns false if the
// context ended first.
func (c *Controller) fill(ctx context.Context, running *sync.WaitGroup, feeds []feed) bool {
	for _, f := range feeds {
		running.Go(func() { f.Run(ctx) })
	}
	for _, f := range feeds {
		select {
		case <-f.synced:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// Ready reports whether the caches are synced.
func (c *Controller) Ready() bool {
	select {
	case <-c.synced:
		return true
	default:
		return false
	}
}

// Depth is how many workloads wait to be reconciled, or are being reconciled.
func (c *Controller) Depth() int { return c.queue.Depth() }

// Writing reports whether workloads are being reconciled, and so perhaps written.
func (c *Controller) Writing() bool { return c.queue.InHand() }

// enqueue queues a workload until the settle period of its sources is over. A workload without a
// ledger and without an observed change only has to be adopted, and does not delay others.
func (c *Controller) enqueue(key workload.Key, live bool) {
	settle := c.opts.Settle
	w, ok := c.state.Workload(key)
	if ok {
		settle = c.opts.SettlePeriod(&w)
	}
	if !live && ok && w.LedgerText == "" {
		c.queue.AddLow(key, settle)
		return
	}
	c.queue.Add(key, settle, c.opts.SettleMax)
}
