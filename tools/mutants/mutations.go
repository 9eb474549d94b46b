package main

import "slices"

// mutation is one way to break the engine.
type mutation struct {
	what     string
	file     string
	from, to string
	// in is the package whose tests must notice it, and tests is which of them.
	in, tests string
	// all are the tests within these that must notice it, each of them; none for any.
	all []string
	// says is the reason that a test must give; empty for any.
	says string
	// histories is how many are drawn, if not the usual number: some ways to break are rarely
	// noticed.
	histories int
}

const (
	controller = "./internal/controller"
	histories  = "^TestHistories$"
	intake     = "./internal/intake"
	core       = "./internal/reload"
	ended      = "./internal/rollout"
	known      = "./internal/state"
)

func mutations() []mutation {
	return append(slices.Concat(drawn(), needless(), orders(), byLabels(), keys(), expressions(), ofOtherNamespaces(), grants(), classes(), trustBundles(), agreement(), installations(), chart(), shell(), missing(), gates(), windows(), freezes(), certificates(), gateURL(), repeats(), approvals(), defaults(), notifications(), waves(), halts(), notices(), soaks(), pages(), access(), tenants()), []mutation{
		{
			what: "the PATCH has no resourceVersion",
			file: "internal/kinds/patch.go",
			from: "		ResourceVersion: w.ResourceVersion,\n", to: "",
			in: controller, tests: histories,
		},
		{
			what: "an unknown order is taken for proof that the pods have the content",
			file: "internal/reload/evidence.go",
			from: "	default:\n		return unknown", to: "	default:\n		return upToDate",
			in: controller, tests: histories,
		},
		{
			what: "an unknown order is taken for proof that the pods do not have the content",
			file: "internal/reload/evidence.go",
			from: "	default:\n		return unknown", to: "	default:\n		return outOfDate",
			in: controller, tests: histories,
		},
		{
			what: "a mark that stands already is written again, and nothing rolls",
			file: "internal/reload/marking.go",
			from: " && seen.MayHavePodsOf(workload.Revision(", to: " && d.Ledger.Counter < 0 && seen.MayHavePodsOf(workload.Revision(",
			in: controller, tests: histories,
		},
		{
			what: "a snapshot that broke off counts as whole",
			file: "internal/intake/snapshot.go",
			from: "	if err == nil {\n		err = f.complete(seen, version)\n	}", to: "	f.Handler.SnapshotComplete(seen, version)\n	if err == nil {\n		err = f.complete(seen, version)\n	}",
			in: intake, tests: "^TestSnapshots$",
		},
		{
			what: "objects of a snapshot count as seen in order",
			file: "internal/state/sources.go",
			from: "	if live {\n		version :=", to: "	if live = true; live {\n		version :=",
			in: controller, tests: histories,
		},
		{
			what: "a content that is other than the ledger's and claims to be no newer is taken for old",
			file: "internal/reload/compare.go",
			from: "!c.Source.Key.Kind.Reported() {\n		c.Seen.Timeless = true\n", to: "!c.Source.Key.Kind.Reported() {\n",
			in: controller, tests: histories,
		},
		{
			what: "pods that started right after a change are taken for sure to have it",
			file: "internal/reload/evidence.go",
			from: "	return source.StartLag\n", to: "	return -source.StartLag\n",
			in: controller, tests: histories,
		},
		{
			what: "digests under a lost key are compared",
			file: "internal/reload/compare.go",
			from: "return base.err == nil && base.ledger.UnderOtherKey(", to: "return kind == 0 && base.ledger.UnderOtherKey(",
			in: core, tests: "^TestOneDigestForManySources$",
		},
		{
			what: "a lost key leaves the marks of the latest reload beside data that a reload waits for",
			file: "internal/reload/next_ledger.go",
			from: " && !sum.IsZero():", to: ":",
			in: core, tests: "^TestMarksOfTheLatestReload",
		},
		{
			what: "what changed before the installation is acted upon",
			file: "internal/reload/unseen_edit.go",
			from: "c.Source.DataTime.Before(f.Began())\n", to: "c.Source.DataTime.Before(c.Source.Created)\n",
			in: controller, tests: histories,
		},
		{
			what: "the pods are not asked",
			file: "internal/reload/decide.go",
			from: "	case tally.needsPods > 0:", to: "	case tally.needsPods < 0:",
			in: controller, tests: histories,
		},
		{
			what: "the entry of a deleted source is dropped",
			file: "internal/reload/next_ledger.go",
			from: "		if f.mayUse(key, &known) {", to: "		if _, refers := f.Workload.Reference(key); !refers && f.mayUse(key, &known) {",
			in: controller, tests: histories,
		},
		{
			what: "a failed write is not tried again",
			file: "internal/controller/reconcile.go",
			from: "		return workqueue.FailedWith(func(retryIn time.Duration, again bool) { c.report.Failed(w, d, err, retryIn, again) })", to: "		return workqueue.Pending()",
			in: controller, tests: histories,
		},
		{
			what: "after a conflict only a newer version wakes the workload",
			file: "internal/controller/reconcile.go",
			from: "return workqueue.Conflicted() // not every", to: "return workqueue.Pending() // not every",
			in: controller, tests: histories,
		},
		{
			what: "the event of the other write does not end the wait after a conflict",
			file: "internal/controller/conflict.go",
			from: "had, r.conflicted = r.conflicted, false", to: "r.conflicted = false",
			in: controller, tests: "^TestAWorkloadIsReconciledWhenTheOtherWriteOfAConflictIsSeen$",
		},
		{
			what: "a conflict is taken for success",
			file: "internal/controller/reconcile.go",
			from: "		c.decideAgain(w)\n		return workqueue.Conflicted()", to: "		return workqueue.Finished()",
			in: controller, tests: histories,
		},
		{
			what: "a write that failed counts as the one with which a ledger was put back",
			file: "internal/controller/restore_ledger.go",
			from: "	last := c.recordOf(w.Key).restored\n", to: "	last := c.recordOf(w.Key).restored\n	c.with(w.Key, func(r *record) { r.restored = c.clock.Now() })\n",
			in: controller, tests: "ALedgerThatCould",
		},
		{
			what: "an answer brings a workload back that was deleted meanwhile",
			file: "internal/state/workloads.go",
			from: "	if known, ok := s.workloads[w.Key]; ok && known.UID == w.UID {\n		s.putWorkload(w, revision, rank, true)", to: "	{\n		s.putWorkload(w, revision, rank, true)",
			in: known, tests: "AnAnswer",
		},
		{
			what: "a template whose marks alone were changed does not count as rolled",
			file: "internal/workload/workload.go",
			from: "	all := marks.Digest()\n", to: "	all := Marks{}.Digest()\n",
			in: controller, tests: histories,
		},
		{
			what: "a template that came back counts as a new one",
			file: "internal/state/workload_seen.go",
			from: "	w.seen.TemplateReverted = w.seen.MayHavePodsOf(w.revision)\n", to: "",
			in: controller, tests: histories,
		},
		{
			what: "pods are asked while the rollout that replaces them is under way",
			file: "internal/reload/compare.go",
			from: "	case base.mayBeReverted && f.mustWait():\n		return waiting\n", to: "",
			in: core, tests: "^Test",
		},
		{
			what: "a content that left and came back was never away",
			file: "internal/state/sources.go",
			from: "		s.recordChanged(affected, next, known, live)\n", to: "",
			in: known, tests: "^TestWhenAContentLeft$",
		},
		{
			what: "the ledger of another object is believed",
			file: "internal/workload/ledger.go",
			from: "	if err == nil && known.UID != w.UID {", to: "	if err == nil && known.UID == \"\" {",
			in: core, tests: "^Test",
		},
		{
			what: "a ledger that was set back is believed",
			file: "internal/ledger/rank.go",
			from: "return !l.olderThan(other) &&", to: "return",
			in: core, tests: "^Test",
		},
		{
			what: "a source that comes back is taken for a new one",
			file: "internal/state/sources.go",
			from: "	case back && !ok && live:", to: "	case back && !ok && live && gone.UID == src.UID:",
			in: controller, tests: histories,
		},
		{
			what: "a reload does not write down what it was for",
			file: "internal/reload/next_ledger.go",
			from: "		next.Entries[c.Source.Key.Local()] = c.Digest()\n", to: "		next.Entries[c.Source.Key.Local()] = known.Entries[c.Source.Key.Local()]\n",
			in: controller, tests: histories,
		},
		{
			what: "a source that was seen to be made is taken for one that the pods have",
			file: "internal/reload/presence.go",
			from: "	case outOfDate:\n		return changed", to: "	case outOfDate:\n		return recorded",
			in: controller, tests: histories,
		},
		{
			what: "a source that was deleted while nobody watched is taken for gone before it mattered",
			file: "internal/reload/presence.go",
			from: "seen == 0 && !base.ledger.OnDelete:", to: "seen == 0:",
			in: controller, tests: histories,
		},
		{
			what: "what pods may have of a source that went before the first ledger is not noted",
			file: "internal/reload/presence.go",
			from: "	if t.departed == nil || len(t.changes) > 0 {", to: "	if t.departed == nil || true {",
			in: controller, tests: histories,
		},
		{
			what: "the deletion of a source is no change if the first ledger only shows that a reload waits",
			file: "internal/reload/presence.go",
			from: "base.err != nil || onlyWaits(&base.ledger)", to: "base.err != nil",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "what waits leaves the first ledger that has what pods may have of deleted sources",
			file: "internal/reload/presence.go",
			from: "			t.departed[key] = sum\n", to: "			_ = sum\n",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "a deletion is acted upon although the source may be about to come back",
			file: "internal/controller/reconcile.go",
			from: "wait := facts.DepartedFor(d, c.clock.Now()); wait > 0", to: "wait := facts.DepartedFor(d, c.clock.Now()); wait > time.Hour",
			in: controller, tests: histories,
		},
		{
			what: "an operator that takes its mark away is tried again",
			file: "internal/reload/strategy.go",
			from: `	if f.Workload.Owner != "" {`, to: `	if f.Workload.Owner == "nobody" {`,
			in: core, tests: "^Test",
		},
		{
			what: "a mark goes where the manifest takes it away",
			file: "internal/reload/strategy.go",
			from: "		if r.against(&f.Workload, changes) == \"\" {\n			return r.first", to: "		if true {\n			return r.first",
			in: core, tests: "^Test",
		},
		{
			what: "a restart that was taken away is not noticed",
			file: "internal/reload/reverts.go",
			from: "(f.Seen.Template == 0 || base.ledger.Step.Restarts())", to: "f.Seen.Template == 0",
			in: core, tests: "^Test",
		},
		{
			what: "after a reload the status is taken for proof",
			file: "internal/rollout/outcome.go",
			from: "return w.HasRolled() && o.Old == 0 && !o.NotFound", to: "return w.HasRolled() && !o.NotFound",
			in: ended, tests: "^TestAReloadHasConverged$",
		},
		{
			what: "a rollout counts as complete while its last Pod does not exist yet",
			file: "internal/workload/progress.go",
			from: "return p.Updated >= p.Wanted", to: "return p.Updated > 0 || p.Wanted == 0",
			in: controller, tests: "^TestARolloutIsNotCompleteUntilItsLastPodExists$",
		},
		{
			what: "a reload is followed whose mark was taken away",
			file: "internal/controller/rollouts.go",
			from: "	if !there || !f.MarksInPlace(&w) {", to: "	if !there {",
			in: controller, tests: "WhatEndsBefore",
		},
		{
			what: "a reload that is stuck is told again and again",
			file: "internal/controller/rollout_pods.go",
			from: "r.tracking != f || !cause.Adds(f.reported) {", to: "r.tracking != f {",
			in: controller, tests: "ThatIsStuck",
		},
		{
			what: "a source that was there when its workload was compared counts as made later",
			file: "internal/reload/presence.go",
			from: "c.Seen.Created > f.Seen.ComparedAt", to: "c.Seen.Created > 0",
			in: core, tests: "^TestASourceThatIsMade$",
		},
		{
			what: "what was known when a workload was compared is not noted",
			file: "internal/state/compared.go",
			from: "	known.seen.ComparedAt = f.Version\n	known.seen.ForgetPolicies", to: "	known.seen.ForgetPolicies",
			in: controller, tests: "AboutASecond",
		},
		{
			what: "a status that names no generation ends a rollout",
			file: "internal/state/workload_seen.go",
			from: "	case w.RolledOut && (known == nil || !w.Unobserved):", to: "	case w.RolledOut:",
			in: known, tests: "CameBack",
		},
		{
			what: "pods are asked as soon as such a status says that all are of the template",
			file: "internal/reload/compare.go",
			from: "unobserved := f.Workload.Unobserved && f.Seen.Template != 0", to: "unobserved := false",
			in: core, tests: "^TestATemplateThatCameBack$",
		},
		{
			what: "a ledger that was taken away or set back counts as a comparison",
			file: "internal/state/workloads.go",
			from: "	case next.ranks.current.Follows(known.ranks.current, known.ranks.remembered):", to: "	default:",
			in: known, tests: "WhenAContentLeft",
		},
		{
			what: "a ledger that was taken away counts as one that we are writing",
			file: "internal/state/compared.go",
			from: "	case text == \"\":\n", to: "	case false:\n",
			in: known, tests: "^TestARemovedLedgerIsNoComparison$",
		},
		{
			what: "a write hides an earlier one whose response is missing, too",
			file: "internal/state/compared.go",
			from: ", before: before.earlier()}", to: "}",
			in: known, tests: "^TestALaterWriteDoesNotHideThePreviousOne$",
		},
		{
			what: "a label that another manager takes over seems to be an edit",
			file: "internal/state/sources.go",
			from: " && now.EditedAt != before.DataTime.Unix()", to: "",
			in: known, tests: "WhenAContentLeft",
		},
		{
			what: "a write that edited nothing, as the watch shows, seems to be an edit",
			file: "internal/state/sources.go",
			from: "		src.EditedAt = r.EditedAt\n", to: "",
			in: known, tests: "^TestTheTimeOfAnEditOutlivesItsFieldManagers$",
		},
		{
			what: "an edit from before its source began to match searches counts for no workload",
			file: "internal/reload/unseen_edit.go",
			from: "c.Source.EditedAt < c.Source.MatchedAt && f.onlyMatches(c)", to: "c.Source.EditedAt < c.Source.MatchedAt",
			in: core, tests: "^TestAnEditThatNobodySawCountsOnlyIfItWasCovered$",
		},
		{
			what: "a snapshot from before a reload ends what follows it",
			file: "internal/controller/stale_cache.go",
			from: "	if !c.state.IsStale(w) {", to: "	if true || !c.state.IsStale(w) {",
			in: controller, tests: "ASnapshotFromBefore",
		},
		{
			what: "a storage that was set back is never believed",
			file: "internal/controller/stale_cache.go",
			from: "c.clock.Since(r.staleSince) < watchTakes; !stale {", to: "c.clock.Since(r.staleSince) >= 0; !stale {",
			in: controller, tests: "SetBackBehind",
		},
	}...)
}
