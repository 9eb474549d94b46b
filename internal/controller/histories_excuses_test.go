package controller

import "time"

// excuse is a reason why the oracle accepts something that its rules forbid. Each use is counted,
// and more uses than its bound are a failure: a rule with an excuse that always applies proves
// nothing.
type excuse string

// Reasons for a rollout of ours without a change that is later than the last rollout and than the
// beginning of the cover.
const (
	// unreadable: the digest key is lost, so that only the age of the Pods shows whether they have
	// a Secret.
	unreadable excuse = "key lost, pods older"
	// madeAgain: a source that was recreated with the same data shows no earlier time, so that Pods
	// of a restored template seem to be older than its data.
	madeAgain excuse = "made again as it was"
	// ledgerGone: a user removed or restored the ledger, or the cover lapsed, or it began while our
	// rollout was sent, and Pods seem to be older.
	ledgerGone excuse = "ledger gone, pods older"
	// rolloutUndone: a user reverted the rollout that brought the change.
	rolloutUndone excuse = "rollout undone"
	// templateReturned: a user restored a template that may have Pods from before the change.
	templateReturned excuse = "template came back"
	// changedInLapse: the change was made after the workload first covered the source, and while it
	// did not cover it. The ledger is unchanged, and nothing shows when the cover ended and began
	// again.
	changedInLapse excuse = "changed in a lapse"
	// sentBefore: the reload was already sent when the source excluded itself, or when
	// --auto-reload-all ended.
	sentBefore excuse = "sent before the cover ended"
	// saysNoMore: a source was deleted while no controller watched, and its last annotations are
	// unknown. It may have concerned a workload with the search annotation.
	saysNoMore excuse = "deleted unseen, may have matched"
	// cameBackUnseen: a source was deleted and recreated, and no controller saw its earlier data.
	cameBackUnseen excuse = "came back unseen"
	// showsNoTime: the API shows no time for data that the ledger does not have, so that the data
	// may be later than any rollout.
	showsNoTime excuse = "shows no time"
	// podsOlder: across a gap, a Pod was created no more than startLag after the time that the API
	// shows.
	podsOlder excuse = "pods older, order unseen"
	// cameOrWentUnordered: a source came, went, or changed its labels, and the controller was not shown
	// whether that was before the rollout of another client.
	cameOrWentUnordered excuse = "came or went, order unseen"
	// podsNotFound: no Pod was found although the status counts some.
	podsNotFound excuse = "pods not found"
	// installedThen: the change was made in the second of the installation, just before it.
	installedThen excuse = "in the second of the installation"
	// allThen: the change was made in the second in which all workloads were opted in, just before
	// that. Both times are whole seconds.
	allThen excuse = "in the second of opting all in"
	// clocksApart: two API servers recorded the time of the change and the time since which the
	// workload is covered.
	clocksApart excuse = "two clocks, about the same time"
	// inOneWrite: one write changed the data and made the source concern the workload, which may
	// have used it for another reason.
	inOneWrite excuse = "data and cover in one write"
	// seemsEdited: a manager that owns only data still has the time of a label, and no ledger exists
	// to compare with. Or no watch has shown that write, after which the data may have been restored.
	seemsEdited excuse = "metadata seems to be data"
	// onlyNamed: the workload names a class without mounting it, so that its Pods report nothing,
	// and other Pods have started with another turn than the one in the ledger.
	onlyNamed excuse = "only named, pods start with another turn"
	// writtenLate: the driver wrote the status of one Pod after the status of another Pod with a
	// later turn. Nothing distinguishes that from a return to the earlier turn.
	writtenLate excuse = "status written late"
	// startedBack: a Pod has started with an earlier version of an object. Either the object has
	// that version again, or the driver was late. Nothing distinguishes the two until a running Pod
	// gets the version.
	startedBack excuse = "started with what there was before"
	// startedLate: a Pod has started with an earlier turn after another Pod was rotated, and was rotated
	// itself while no controller watched. Its first turn looks like a version of its own.
	startedLate excuse = "started late, rotated unseen"
	// shownAgain: the only status that reported a rotation was deleted with its Pod before the
	// controller started. The remaining ones report the earlier turn, so that the next rewritten
	// one looks like a rotation, or the last one.
	shownAgain excuse = "rotation shown again"
	// reportedBack: an object has an earlier version again. The only Pods that had the version between
	// reported that after the last rollout, and nothing else shows it: any other Pod that got the
	// earlier version may only have been late.
	reportedBack excuse = "reported back after the rollout"
	// givenInParts: the first running Pod that got a rotation had a part of it before. The only Pods
	// that got the rest reported that after the reload.
	givenInParts excuse = "rotation given in parts"
	// mayBeAdded: a Pod started without an object, soon after a rotation. No other status shows that the
	// class had the object before. The class may have lost it since, or the rotation may have brought it,
	// so that the Pod is still given it.
	mayBeAdded excuse = "started soon without an object"
	// rotationGone: the Pods that had reported a rotation were deleted before a controller acted on
	// it. New Pods report only what they started with, which is no rotation, and the workload
	// names the class without mounting it.
	rotationGone excuse = "rotation gone with its pods"
	// overEarlier: the status of a Pod replaced the status of an earlier Pod of the same name while
	// no controller watched. Its times are those of the earlier one, so that it looks like a change
	// for a running Pod.
	overEarlier excuse = "status of an earlier pod"
	// notReported: a Pod had no status yet, so that only its age decided, and the Pod may be older
	// than a rotation.
	notReported excuse = "pods not reported yet"
	// keysUnseen: a list of keys was replaced, and no controller that had seen it has compared the
	// workload since. Removed keys have no time, so the ledger may have digests of other data.
	keysUnseen excuse = "list of keys replaced unseen"
	// keysOfGone: a list of keys was replaced, and the source was deleted before a controller compared
	// the two, and recreated after a snapshot. The ledger has a digest of the listed keys alone.
	keysOfGone excuse = "list of keys replaced while deleted"
	// optedInUnseen: the workload was opted in while no controller watched, and the data was
	// provably edited after the installation, or the labels that select it seem to be later.
	optedInUnseen excuse = "opted in unseen"
	// labelShownLate: a source lost its label while an annotation of the workload selected it, too, and
	// the controller was shown first that the annotation was removed. So the label counted at its ledger.
	labelShownLate excuse = "label lost before an opt-out, shown after"
	// optedInByStart: a source lost its label, and a controller that opts in all workloads started
	// before another one had acted on that. The workload references the source, so nothing is lost.
	optedInByStart excuse = "label lost, opted in by a start"
	// allSeenInParts: a controller that opts in all workloads started, and the change came before it had
	// seen everything.
	allSeenInParts excuse = "before a start that opts all in had seen all"
)

// Reasons for a Pod with other data than the current one.
const (
	// podWaits: a new Pod cannot start without all of its sources.
	podWaits excuse = "waits for a source"
	// runWaits: a run cannot begin beside another one, whose Pods may wait for a source.
	runWaits excuse = "waits for another run"
	// sourceGone: the source was deleted, which is a change only with --reload-on-delete.
	sourceGone excuse = "source gone"
	// startedWithout: the Pod runs without the source, which was created later. That is a change
	// only with --reload-on-create.
	startedWithout excuse = "started without an optional source"
	// broughtAlready: the source was created, and all Pods have it: they waited for it, or have it
	// from before its deletion.
	broughtAlready excuse = "made, and all pods have it"
	// beforeInstalled: the controller need not act on changes from before the installation.
	beforeInstalled excuse = "before the installation"
	// beforeCover: the controller need not act on changes from before the workload covered the
	// source.
	beforeCover excuse = "before the cover"
	// nothingToTry: a tool reverts our marks, and no other form of mark is left.
	nothingToTry excuse = "no other mark to try"
	// backBeforeSeen: the data changed and changed back before the controller compared it, or while its watch
	// had a gap, and nothing proves an edit.
	backBeforeSeen excuse = "away and back unseen"
	// deletedUnseen: the controller never saw the data of the source before its deletion.
	deletedUnseen excuse = "what it was is not known"
	// overwrittenUnseen: keys were written and then only removed, so that the API shows the time of
	// the first write.
	overwrittenUnseen excuse = "only keys lost, unseen"
	// keyLostUnseen: a Secret changed without a later time than the one in the ledger, and the
	// digest key is lost.
	keyLostUnseen excuse = "key lost, no later time"
	// notAdopted: the data changed unseen before the first ledger, and the API shows nothing of it.
	notAdopted excuse = "not adopted, shows nothing"
	// shownBefore: the data changed unseen before the first ledger, and the API shows a later time
	// for the opt-in, the settings, or the label of the namespace. A manager has one time for all
	// annotations that it owns, and two servers have two clocks.
	shownBefore excuse = "not adopted, shown before the cover"
	// labeledUnseen: keys were removed, unseen, after a label had moved the time beyond the time in
	// the ledger, and Pods are younger than that. A value that was written before the Pods were
	// created looks the same.
	labeledUnseen excuse = "only keys lost, label seen"
	// deletedUnasked: the source did not exist when the workload was opted in, so that no earlier
	// data exists to compare with.
	deletedUnasked excuse = "deleted before the cover"
	// leftEarly: the source was deleted after the workload asked for it, and before each controller had to
	// cover it. To a controller that covered it then, the source is not new when it is created again.
	leftEarly excuse = "left before the cover, made again"
	// notProven: the data changed unseen before the first ledger, and the manager of the data also
	// owns labels or annotations: the time may be that of a label.
	notProven excuse = "not adopted, proves nothing"
)

// Reasons for Jobs in another state than expected.
const (
	// leftToUsers: only the user can continue with a copy or a suspended Job, and was notified: a
	// request to create it came late, or the digest key of its signature is lost.
	leftToUsers excuse = "left to users"
	// deletedByBoth: the user deleted a Job that the controller was about to delete, too. Nothing
	// shows which of them did.
	deletedByBoth excuse = "deleted by both"
	// madeSince: a source that the Pods wait for was recreated with other data after the Job began.
	madeSince excuse = "made again since"
	// askedLater: a Job without a ledger seems to be opted in since its user last wrote it, which
	// was after the change.
	askedLater excuse = "seems to ask since later"
	// beganSoon: a run of the schedule began so soon after the change that its Pods may have the
	// earlier data. If its Job is deleted, only the minute is left for which it was scheduled.
	beganSoon excuse = "a run began soon after"
	// backMeanwhile: the data changed for a moment after a run had begun, and a Pod of it started
	// then. A CronJob and its Jobs show when a run began. Only the Pods show when they started,
	// which may be deleted by then, and the next run uses the current data.
	backMeanwhile excuse = "started while it was away"
	// neverRan: the source was recreated before the CronJob had a ledger, and no run of it has begun,
	// so that no Pod has read other data.
	neverRan excuse = "made again before the first run"
	// owedNothing: the source had its present data at a time when the CronJob was owed no run, for example
	// because it was suspended.
	owedNothing excuse = "has the data of when no run was owed"
	// runDeleted: a user deleted the run that Reroll made for the present data.
	runDeleted excuse = "run deleted by a user"
	// statusBehind: the Job was resumed while its status still counted deleted Pods. One of those
	// could have stayed.
	statusBehind excuse = "status behind the pods"
)

// aboutThen reports whether the data of a source seems to be edited at about the time of the
// installation, or at the time since which all workloads are opted in. Each of the two may be
// recorded by the other clock.
func (o *oracle) aboutThen(edited time.Time) bool {
	about := func(t time.Time) bool { return edited.Sub(t).Abs() <= clockSkew+time.Second }
	return about(o.installedIn) || about(o.h.coverage.AllSince)
}
