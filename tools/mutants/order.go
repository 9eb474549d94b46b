package main

// orders are mutations of what follows from the order in which events were seen.
func orders() []mutation {
	const before, references, late = "^TestDataFromBeforeItsUse$", "^TestSinceWhenPodsMayReferenceASource$", "^TestPodsAreAskedAgainAboutAChangeThatArrivesLate$"
	return []mutation{
		{
			what: "order: what pods may have of a source that went before a later ledger is not noted",
			file: "internal/reload/presence.go",
			from: "!first && (f.rollouts().Template > deleted || f.Seen.Since >= deleted),", to: "!first,",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "order: data that Pods may have is noted again after a gap in the watch of the workload",
			file: "internal/reload/presence.go",
			from: " || f.Seen.Since >= deleted", to: "",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "order: the deletion of a source whose reload waits counts only if the policy is as it was",
			file: "internal/reload/presence.go",
			from: "waits := base.ledger.Entries[key].IsZero()", to: "waits := false",
			in: core, tests: "^TestADeletedSourceThatOnlyLabelsSelected$",
		},
		{
			what: "a lost key keeps the marks although another client may have rolled a later edit",
			file: "internal/reload/next_ledger.go",
			from: "|| later ||", to: "|| later && false ||",
			in: core, tests: "^TestMarksOfTheLatestReload",
		},
		{
			what: "a lost key takes the marks of the latest reload out of the ledger",
			file: "internal/reload/next_ledger.go",
			from: "return c.Seen.Content != 0 || later || f.editedAt(c) > f.dataTime(*known)", to: "_ = later\n\t\treturn true",
			in: core, tests: "^TestMarksOfTheLatestReload",
		},
		{
			what: "order: a mark that fits is compared with Pods although the workload was opted in later",
			file: "internal/reload/compare.go",
			from: "c.Seen.Content > max(f.usedSince(c), f.rollouts().Since)", to: "c.Seen.Content > f.rollouts().Template",
			in: core, tests: "^TestOfTwoMarksTheLaterOneCounts$",
		},
		{
			what: "order: a mark that fits hides that data came back",
			file: "internal/reload/compare.go",
			from: "f.fits(c, mark) && !later {", to: "f.fits(c, mark) && (!later || true) {",
			in: core, tests: "^TestOfTwoMarksTheLaterOneCounts$",
		},
		{
			what: "order: what pods had before a reload for a deletion is noted again",
			file: "internal/reload/presence.go",
			from: "!first && (f.rollouts().Template > deleted || f.Seen.Since >= deleted),", to: "",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "order: a new reference that is undone and redone may have been there before",
			file: "internal/reload/compare.go",
			from: "max(f.coveredIn(c), f.Seen.Referenced[c.Source.Key.Local()])", to: "f.coveredIn(c)",
			in: core, tests: before,
		},
		{
			what: "order: a reference that returns is new",
			file: "internal/state/workload_seen.go",
			from: "	note(w, known, 0) //", to: "	// note(w, known, 0)",
			in: known, tests: references,
		},
		{
			what: "order: a reference is new in each template of a rollout",
			file: "internal/state/workload_seen.go",
			from: "		maps.Copy(since, known.seen.Referenced)\n", to: "		maps.Copy(since, known.seen.AdoptedSources)\n",
			in: known, tests: references,
		},
		{
			what: "order: a gap hides since when the annotations select sources",
			file: "internal/state/workload_seen.go",
			from: "		w.seen.Widen(before+1, known.Policy, known.OptedInAt)\n", to: "		w.seen.Policy = 0\n",
			in: known, tests: "^TestTheObservedHistoryOfAWorkload$",
		},
		{
			what: "order: the versions of a restored API server show an order",
			file: "internal/state/workload_seen.go",
			from: "before == 0 || version <= before", to: "before == 0",
			in: known, tests: "^TestTheObservedHistoryOfAWorkload$",
		},
		{
			what: "order: a ledger with a new key never follows one with the lost key",
			file: "internal/reload/compare.go",
			from: " || current.Instance == f.Instance && current.TakenOverFrom(ours)", to: "",
			in: core, tests: "^TestDecide$",
		},
		{
			what: "order: data of a snapshot may be later than the snapshot",
			file: "internal/reload/unseen_edit.go",
			from: "c.Source.Key.Local(), c.Seen.latest())", to: "c.Source.Key.Local(), c.Seen.Content)",
			in: core, tests: before,
		},
		{
			what: "order: a union that a workload references already may have had bundles unseen",
			file: "internal/state/unions.go",
			from: " || len(u.users) > 1 || slices.Contains(before, key) {", to: " {",
			in: known, tests: "^TestAUnionThatAWorkloadReferencesAlreadyHasNoUnknownPast$",
		},
		{
			what: "order: a source that annotations name counts as used since its first reference",
			file: "internal/reload/compare.go",
			from: "	case f.Seen.TemplateReverted && c.Verdict.Rule.WithoutReference():\n		return f.coveredIn(c)\n", to: "",
			in: core, tests: before,
		},
		{
			what: "order: an edit that waits is compared by a lost key",
			file: "internal/reload/compare.go",
			from: "	case digest.IsZero():\n", to: "	case digest.IsZero() && !f.underLostKey(c.Source.Key.Local(), base):\n",
			in: core, tests: "^TestALostKeyForgetsNoReloadThatWaits$",
		},
		{
			what: "order: an edit that waits, under one digest for a kind, is compared by a lost key",
			file: "internal/reload/decide.go",
			from: "		case i == waits:\n", to: "		case i == waits && !otherKey(kind, base, f):\n",
			in: core, tests: "^TestALostKeyForgetsNoReloadThatWaits$",
		},
		{
			what: "order: Pods that were asked are known to have the data of a deleted source",
			file: "internal/state/compared.go",
			from: "(lacks ||", to: "(lacks && false ||",
			in: known, tests: "^TestPodsAreAskedAgainAboutADeletedSource$",
		},
		{
			what: "order: Pods that were asked are known to have what a late watch shows",
			file: "internal/state/compared.go",
			from: "	w.doubt(version)\n", to: "",
			in: known, tests: late,
		},
		{
			what: "order: Pods that were asked are known to lack what a late watch shows is deleted",
			file: "internal/state/sources.go",
			from: "		s.workloads[concern].doubt(departure.Version)\n", to: "		_ = concern\n",
			in: known, tests: late,
		},
		{
			what: "order: Pods that were asked have what a watch shows while they are asked",
			file: "internal/state/compared.go",
			from: " || known.missedOne(s))", to: ")",
			in: known, tests: late,
		},
		{
			what: "order: an event of a workload forgets that its Pods were asked",
			file: "internal/state/workloads.go",
			from: "	next.asked = known.asked\n", to: "",
			in: known, tests: late,
		},
		{
			what: "order: Pods that are back have no earlier data of a source that was created since",
			file: "internal/reload/presence.go",
			from: "case !base.mayBeReverted, !base.ledger.OnDelete,", to: "case true,",
			in: core, tests: "^TestASourceThatIsCreatedBehindPodsThatAreBack$",
		},
		{
			what: "order: a source that was created may have been deleted before, even if no reload is for deletions",
			file: "internal/reload/presence.go",
			from: "case !base.mayBeReverted, !base.ledger.OnDelete,", to: "case !base.mayBeReverted,",
			in: core, tests: "^TestASourceThatIsCreatedBehindPodsThatAreBack$",
		},
		{
			what: "order: a source that was created may have been deleted before, even if only a rollout of another client may be undone",
			file: "internal/reload/presence.go",
			from: "!base.ledger.OnDelete, base.ledger.Marks.IsZero(),", to: "!base.ledger.OnDelete,",
			in: core, tests: "^TestASourceThatIsCreatedBehindPodsThatAreBack$",
		},
		{
			what: "order: the ledger shows when data was written that was away since",
			file: "internal/reload/reverts.go",
			from: "if !c.wasAway() {\n\t\twritten", to: "if true {\n\t\twritten",
			in: core, tests: "^TestASourceThatWasAwayHidesNoPodsThatAreBack$",
		},
		{
			what: "order: a comparison proves that no source concerned the workload before its annotations changed",
			file: "internal/reload/evidence.go",
			from: "case !hasLedger || last < 0:", to: "case true:",
			in: known, tests: "^TestASourceThatALedgerDroppedBecauseItsWatchLagged$",
		},
		{
			what: "order: what concerns a workload since an earlier change of its annotations concerned it always",
			file: "internal/reload/unseen_edit.go",
			from: "return f.Seen.WidenedBefore", to: "return 0",
			in: known, tests: "^TestASourceThatALedgerDroppedBecauseItsWatchLagged$",
		},
		{
			what: "order: a first ledger forgets what concerned the workload before",
			file: "internal/state/compared.go",
			from: `ForgetPolicies(known.LedgerText != "" || known.remembered != "")`, to: `ForgetPolicies(f.Workload.LedgerText != "" || f.Remembered != "")`,
			in: known, tests: "^TestASourceThatALedgerDroppedBecauseItsWatchLagged$",
		},
		{
			what: "order: without a ledger, the policy before the latest one is kept",
			file: "internal/reload/evidence.go",
			from: "case !hasLedger || last < 0:", to: "case last < 0:",
			in: known, tests: "^TestHowAWorkloadCameToAskForMore$",
		},
		{
			what: "order: the ledger of a reload lacks its marks",
			file: "internal/controller/apply.go",
			from: "c.mark(facts, &d) //", to: "c.mark(facts, new(d)) //",
			in: "./internal/controller", tests: "^TestTheLedgerOfAReloadHasItsMarks$",
		},
		{
			what: "order: the event of our own write wakes nothing",
			file: "internal/controller/feeds.go",
			from: "			c.continueStored(&w, live, false)\n", to: "			_ = w\n",
			in: "./internal/controller", tests: "^TestAWorkloadIsReconciledWhenTheOtherWriteOfAConflictIsSeen$",
		},
		{
			what: "order: a response brings a deleted run back",
			file: "internal/controller/own_jobs.go",
			from: "	if gone {\n", to: "	if gone && false {\n",
			in: controller, tests: "^TestAResponseDoesNotBringADeletedRunBack$",
		},
		{
			what: "order: a snapshot of the Jobs of users does not show which runs are deleted",
			file: "internal/controller/recreate_job.go",
			from: "c.keepRuns(namespace, named, h.version)", to: "c.keepRuns(namespace, named, runs.version)",
			in: controller, tests: "^TestASnapshotOfJobsShowsWhichRunsAreDeleted$",
		},
	}
}
