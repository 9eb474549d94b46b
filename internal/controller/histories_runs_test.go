package controller

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
)

// TestJobHistories draws histories of Jobs, like TestHistories for workloads whose Pods always run.
// The same seed gives another history here.
func TestJobHistories(t *testing.T) {
	testKind(t, "TestJobHistories", kinds.Jobs().Name, jobBounds())
}

// TestCronJobHistories draws those of CronJobs.
func TestCronJobHistories(t *testing.T) {
	testKind(t, "TestCronJobHistories", cronJobKind, cronJobBounds())
}

// cronJobBounds limit the uses of each excuse in a thousand histories of CronJobs.
func cronJobBounds() map[excuse]float64 {
	return map[excuse]float64{
		leftToUsers:       35,
		backMeanwhile:     9,
		neverRan:          1,
		askedLater:        2,
		beganSoon:         245,
		ledgerGone:        2,
		changedInLapse:    6,
		sentBefore:        2,
		showsNoTime:       44,
		podWaits:          1497,
		runWaits:          1829,
		owedNothing:       5118,
		runDeleted:        1,
		beforeInstalled:   45,
		beforeCover:       35,
		backBeforeSeen:    6,
		deletedUnseen:     1,
		overwrittenUnseen: 5,
		keyLostUnseen:     6,
		labeledUnseen:     6,
		notAdopted:        12,
		shownBefore:       1,
		notProven:         21,
		deletedUnasked:    1,
		seemsEdited:       1,
		cameBackUnseen:    1,
		unreadable:        1,
	}
}

// jobBounds limit the uses of each excuse in a thousand histories of Jobs: the measured number, and
// half as much again.
func jobBounds() map[excuse]float64 {
	return map[excuse]float64{
		leftToUsers:       31,
		deletedByBoth:     43,
		madeSince:         1,
		cameBackUnseen:    2,
		askedLater:        2,
		statusBehind:      74,
		changedInLapse:    3,
		showsNoTime:       4,
		podsOlder:         35,
		podWaits:          1039,
		beforeInstalled:   1861,
		beforeCover:       86,
		backBeforeSeen:    32,
		deletedUnseen:     9,
		overwrittenUnseen: 6,
		keyLostUnseen:     6,
		notAdopted:        22,
		notProven:         44,
		shownBefore:       6,
		deletedUnasked:    1,
		labeledUnseen:     5,
		unreadable:        1,
		seemsEdited:       1,
	}
}

// runsTruth is the knowledge of the oracle about Jobs and CronJobs.
type runsTruth struct {
	// jobs are by name, and runs by the uid of the Job: see histories_jobs_truth_test.go.
	jobs map[string]*jobTruth
	runs map[types.UID]*runTruth
	// crons, their own runs, the beginnings of runs, and the started Pods of runs are by uid: see
	// histories_cronjobs_test.go.
	crons     map[types.UID]*cronTruth
	own       map[types.UID]ownRun
	began     map[types.UID]uint64
	podsBegun map[types.UID]bool
	// odd are the Jobs that were reported to users.
	odd map[types.UID]bool
	// classes are in histories_classes_truth_test.go.
	classes *classesTruth
}

func newRunsTruth() runsTruth {
	return runsTruth{
		jobs: map[string]*jobTruth{}, runs: map[types.UID]*runTruth{},
		crons: map[types.UID]*cronTruth{}, own: map[types.UID]ownRun{}, began: map[types.UID]uint64{}, podsBegun: map[types.UID]bool{}, odd: map[types.UID]bool{},
		classes: newClassesTruth(),
	}
}

// truths returns the truths of all workloads.
func (o *oracle) truths() []*workloadTruth {
	all := slices.Collect(maps.Values(o.workloads))
	for _, r := range o.runs {
		all = append(all, r.workloadTruth)
	}
	for _, c := range o.crons {
		all = append(all, c.workloadTruth)
	}
	return all
}

// ofKind returns the histories of a kind.
func ofKind(kind string) func(seed uint64, steps int) *history {
	return func(seed uint64, steps int) *history {
		r := rand.New(rand.NewPCG(seed, 5))
		d := draws{kind: kind, forgotten: r.IntN(6) == 0, skewed: r.IntN(5) == 0}
		if kind == classKind {
			d.onCreate, d.onDelete = r.IntN(4) == 0, r.IntN(4) == 0
		}
		return newHistoryOf(d, seed, steps)
	}
}

// watched are the kinds that the controllers watch. The simulated server has no custom kinds. A
// workload whose Pods are not found is like one of a custom kind without a selector.
func (h *history) watched() []kinds.Kind {
	all := slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool {
		runs := k.Name == "CronJob" || k.Name == "Job"
		mixed := h.kind == "" || h.kind == classKind
		return k.Custom || mixed && runs || !mixed && k.Name != h.kind
	})
	for i := range all {
		if h.blind != "" {
			all[i].Adapter = guessing{all[i].Adapter, h.blind}
		}
	}
	return all
}

// guessing reads one workload as if its selector was guessed.
type guessing struct {
	kinds.Adapter
	blind string
}

func (g guessing) Parts(obj runtime.Object) (kinds.Parts, error) {
	parts, err := g.Adapter.Parts(obj)
	parts.SelectorGuessed = err == nil && parts.Meta.Name == g.blind
	return parts, err
}

// stepRuns does the next action for a drawn Job or CronJob.
func (h *history) stepRuns() bool {
	if jobs := h.jobs(); len(jobs) > 0 && h.pods.StepJob(jobs[h.rand.IntN(len(jobs))]) {
		return true
	}
	crons := h.server.List("cronjobs")
	return len(crons) > 0 && h.pods.StepCronJob(crons[h.rand.IntN(len(crons))].(*batchv1.CronJob))
}

// stepCronJobs does one action for a CronJob, or ends one of its runs. It returns false if nothing
// is left to do.
func (h *history) stepCronJobs() bool {
	for _, obj := range h.server.List("cronjobs") {
		if h.pods.StepCronJob(obj.(*batchv1.CronJob)) {
			return true
		}
	}
	return h.kind == cronJobKind && h.users.endRun()
}

// classShare is how many histories of other kinds take as long as one of classes.
const classShare = 5

func testKind(t *testing.T, name, kind string, bounds map[excuse]float64) {
	t.Helper()
	draw := ofKind(kind)
	if seed, ok := numberOf(t, "REROLL_SEED"); ok {
		replay(t, draw(seed, allSteps))
		return
	}
	count := uint64(full * 3 / 8)
	n, given := numberOf(t, "REROLL_HISTORIES")
	switch {
	case kind == classKind && given:
		count = max(n/classShare, 1)
	case kind == classKind:
		count = full / 125
	case given:
		count = n
	}
	base, ok := numberOf(t, "REROLL_BASE")
	if !ok {
		base = rand.Uint64N(1 << 40)
	}
	again := count
	if kind == classKind {
		again *= classShare
	}
	repeatable(t, name, base, again)
	counts, failed := runHistories(base, count, draw)
	fmt.Print(table(name, base, count, counts, bounds))
	for i, f := range failed {
		if i >= mostShown {
			t.Errorf("history %d of %s fails: %v", f.seed, name, f.err)
			continue
		}
		t.Errorf("%s\nREROLL_SEED=%d go test ./internal/controller -run '%s$' replays it in full.", explain(f, draw), f.seed, name)
	}
	if t.Failed() {
		return
	}
	checkExcuses(t, count, counts, bounds)
	if count < enoughToProve*3/8 {
		return
	}
	for _, name := range append(faultNames(), killNames()...) {
		if least := 100; counts[name] < least && name != killedResumed && name != podsRefused && name != killedAskingPods {
			t.Errorf("%q came %d times, must come %d times at least to prove anything", name, counts[name], least)
		}
	}
}
