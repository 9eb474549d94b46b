package controller

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// excuse is a reason for which the oracle takes something that its rules forbid. Each use is counted, and more uses than its
// bound are a failure: a rule with an excuse that always applies holds nothing.
type excuse string

// Why a rollout of ours may be without a change that is later than the last rollout and than the beginning of the cover.
const (
	// unreadable: the digest key is lost, so that only the age of the pods tells whether they have a Secret.
	unreadable excuse = "key lost, pods older"
	// madeAgain: a source that was made again as it was shows no earlier time, so that pods of a template that came back
	// seem to be older than its content.
	madeAgain excuse = "made again as it was"
	// ledgerGone: somebody took the ledger away or set it back, or the cover lapsed, and pods seem to be older.
	ledgerGone excuse = "ledger gone, pods older"
	// rolloutUndone: somebody took back the rollout that carried the change.
	rolloutUndone excuse = "rollout undone"
	// templateReturned: somebody brought a template back of which there may be pods from before the change.
	templateReturned excuse = "template came back"
	// changedInLapse: the change was made after the workload first asked for the source and while it did not ask. The ledger is
	// what it was before, and nothing tells when it stopped asking and began again.
	changedInLapse excuse = "changed in a lapse"
	// sentBefore: the reload was on its way when the source said that it concerns nobody, or when all were no longer opted in.
	sentBefore excuse = "sent before the cover ended"
	// saysNoMore: a source was deleted while nobody watched, and what its annotations said by then is gone with it. It may have
	// concerned a workload that searches.
	saysNoMore excuse = "deleted unseen, may have matched"
	// cameBackUnseen: a source was deleted and made again, and nobody saw what it was before.
	cameBackUnseen excuse = "came back unseen"
	// showsNoTime: the API shows no time for a content that the ledger does not have, so that it may be later than any rollout.
	showsNoTime excuse = "shows no time"
	// podsOlder: across a gap, a pod was created no more than startLag after the time that the API shows.
	podsOlder excuse = "pods older, order unseen"
	// podsNotFound: no pod was found where the status counts some.
	podsNotFound excuse = "pods not found"
	// installedThen: the change was made in the second of the installation, just before it.
	installedThen excuse = "in the second of the installation"
	// allThen: the change was made in the second since which all workloads are opted in, just before that. Both times are whole seconds.
	allThen excuse = "in the second of opting all in"
	// clocksApart: two API servers have noted when the source was changed and since when the workload was covered.
	clocksApart excuse = "two clocks, about the same time"
	// inOneWrite: one write changed the data and had the source concern the workload, which may have used it for another reason.
	inOneWrite excuse = "data and cover in one write"
	// seemsEdited: the time of a label is left with who owns data alone, and there is no ledger to compare with.
	seemsEdited excuse = "metadata seems to be data"
	// onlyNamed: the workload names a class without mounting it, so that its pods report nothing, and other pods have started with
	// another turn than the ledger has.
	onlyNamed excuse = "only named, pods start with another turn"
	// writtenLate: the driver wrote the status of one pod after that of another one to which it had given a later turn. Nothing tells
	// that from going back.
	writtenLate excuse = "status written late"
	// startedBack: a pod has started with a version that an object had before. Nothing tells whether it has again, or the pod was given
	// it late, as long as no pod is given that while it runs.
	startedBack excuse = "started with what there was before"
	// shownAgain: the only status that told of a rotation went with its pod while no controller ran, and those that stand there say what
	// was before, so that the next one that is written again looks like a rotation.
	shownAgain excuse = "rotation shown again"
	// overEarlier: the status of a pod was written over that of an earlier pod of its name while nobody watched. Its times are those
	// of the earlier one, so that nothing tells it from one that was given something else while its pod ran.
	overEarlier excuse = "status of an earlier pod"
	// notReported: a pod was found of which no status had arrived, so that only its age told, and it may be older than a rotation.
	notReported excuse = "pods not reported yet"
	// optedInUnseen: the workload began to ask while nobody watched, and the data was provably edited after the installation.
	optedInUnseen excuse = "opted in unseen"
)

// Why a pod may have another content than there is.
const (
	// podWaits: without all of its sources no new pod can start.
	podWaits excuse = "waits for a source"
	// sourceGone: the source was deleted, which is no change but with --reload-on-delete.
	sourceGone excuse = "source gone"
	// startedWithout: the pod does without the source, which was made later. That is no change but with --reload-on-create.
	startedWithout excuse = "started without an optional source"
	// broughtAlready: the source was made, and all pods have it: they waited for it, or have had it from before it was deleted.
	broughtAlready excuse = "made, and all pods have it"
	// beforeInstalled: nobody asked to act upon changes from before the installation.
	beforeInstalled excuse = "before the installation"
	// beforeCover: nobody asked to act upon changes from before the workload asked for the source.
	beforeCover excuse = "before the cover"
	// nothingToTry: somebody takes back what we write, and there is no other mark to try.
	nothingToTry excuse = "no other mark to try"
	// backBeforeSeen: the content was away and back before anybody compared it.
	backBeforeSeen excuse = "away and back unseen"
	// deletedUnseen: what the source was before it was deleted was never seen.
	deletedUnseen excuse = "what it was is not known"
	// overwrittenUnseen: keys were written and then only taken away, so that the time shown is that of the writing.
	overwrittenUnseen excuse = "only keys lost, unseen"
	// keyLostUnseen: a Secret changed without a later time than the ledger has, and the digest key is lost.
	keyLostUnseen excuse = "key lost, no later time"
	// notAdopted: there was no ledger yet when it changed unseen, and the API shows nothing of it.
	notAdopted excuse = "not adopted, shows nothing"
	// shownBefore: there was no ledger yet when it changed unseen, and the API shows a later time for the request, or for the
	// settings: whoever writes the annotations that ask has one time for all of its annotations, and two servers have two clocks.
	shownBefore excuse = "not adopted, shown before the cover"
	// labeledUnseen: only keys were lost, unseen, after a label had moved the time past what the ledger knows, and pods are younger
	// than that. A value that was written before the pods were made looks the same.
	labeledUnseen excuse = "only keys lost, label seen"
	// deletedUnasked: when the workload began to ask, the source was not there, so that what it was is nobody's to compare with.
	deletedUnasked excuse = "deleted before the cover"
	// notProven: there was no ledger yet when it changed unseen, and who owns the data owns labels or annotations, too: the
	// time may be that of a label.
	notProven excuse = "not adopted, proves nothing"
)

// Why Jobs may be otherwise than they are to be.
const (
	// leftToUsers: a copy, or a Job that is held, can only be gone on with by its user, who was told of it: a request to make it came late,
	// or the digest key that has signed it is lost.
	leftToUsers excuse = "left to users"
	// deletedByBoth: the user deleted a Job that the controller was about to delete, too. Nobody can tell who did.
	deletedByBoth excuse = "deleted by both"
	// madeSince: a source that the pods wait for was made again, with another content than there was, after the Job began.
	madeSince excuse = "made again since"
	// askedLater: a Job without a ledger seems to ask since its user wrote it last, which was after the change.
	askedLater excuse = "seems to ask since later"
	// beganSoon: a run of the schedule has begun so soon after the change that its pods may have what there was before.
	beganSoon excuse = "a run began soon after"
	// backMeanwhile: the content was away for a moment after a run had begun, and a pod of it has started then. A CronJob and its Jobs
	// tell when a run began. When its pods have started only they tell, which may be gone by then, and the next run reads what there is.
	backMeanwhile excuse = "started while it was away"
	// statusBehind: the Job was resumed when its status still counted pods that were gone. One of those could have stayed.
	statusBehind excuse = "status behind the pods"
)

// bounds are how often each may be used in a thousand histories: what was measured, and half as much again.
func bounds() []struct {
	excuse excuse
	most   float64
} {
	return []struct {
		excuse excuse
		most   float64
	}{
		{unreadable, 3},
		{madeAgain, 10},
		{ledgerGone, 53},
		{rolloutUndone, 83},
		{templateReturned, 130},
		{changedInLapse, 79},
		{sentBefore, 30},
		{saysNoMore, 3},
		{cameBackUnseen, 4},
		{showsNoTime, 103},
		{podsOlder, 77},
		{podsNotFound, 60},
		{optedInUnseen, 35},
		{installedThen, 222},
		{allThen, 10},
		{clocksApart, 3},
		{inOneWrite, 8},
		{seemsEdited, 6},
		{podWaits, 5321},
		{sourceGone, 930},
		{startedWithout, 36},
		{beforeInstalled, 5971},
		{beforeCover, 990},
		{nothingToTry, 33},
		{backBeforeSeen, 128},
		{deletedUnseen, 25},
		{overwrittenUnseen, 32},
		{keyLostUnseen, 54},
		{notAdopted, 119},
		{notProven, 165},
		{shownBefore, 6},
		{labeledUnseen, 0.5},
		{deletedUnasked, 13},
		{broughtAlready, 1},
	}
}

// excuses are all there are.
func excuses() []excuse {
	all := []excuse{leftToUsers, deletedByBoth, madeSince, askedLater, beganSoon, backMeanwhile, statusBehind, notReported, onlyNamed, overEarlier, shownAgain, startedBack, writtenLate}
	for _, b := range bounds() {
		all = append(all, b.excuse)
	}
	return all
}

// excused counts the use of one, and is true.
func (o *oracle) excused(e excuse) bool {
	o.h.count("excuse: " + string(e))
	o.h.say("excused: %s", e)
	return true
}

// mostOf is the bound for a number of histories. Few of them differ from each other by chance.
func mostOf(perThousand float64, histories uint64) int {
	expected := perThousand * float64(histories) / 1000
	return int(math.Ceil(expected + 5*math.Sqrt(expected) + 5))
}

// checkExcuses fails where one was used too often.
func checkExcuses(t *testing.T, histories uint64, counts map[string]int) {
	t.Helper()
	for _, b := range bounds() {
		if used, most := counts["excuse: "+string(b.excuse)], mostOf(b.most, histories); used > most {
			t.Errorf("the oracle excused %d things by %q, must be %d at most in %d histories", used, b.excuse, most, histories)
		}
	}
}

func excuseLine(histories uint64, counts map[string]int) string {
	var cells []string
	for _, b := range bounds() {
		cells = append(cells, fmt.Sprintf("%s %d (of %d)", b.excuse, counts["excuse: "+string(b.excuse)], mostOf(b.most, histories)))
	}
	return strings.Join(cells, ", ")
}

// aboutThen reports whether the data of a source seem to be edited at about the time of the installation, or at that from which all
// workloads are opted in: each of the two may be noted by the other clock.
func (o *oracle) aboutThen(edited time.Time) bool {
	about := func(t time.Time) bool { return edited.Sub(t).Abs() <= clockSkew+time.Second }
	return about(o.installedIn) || about(o.h.coverage.AllSince)
}
