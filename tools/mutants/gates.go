package main

// gates are mutations of what keeps a reload from starting.
func gates() []mutation {
	const churn, shell = "internal/gate/churn.go", "internal/controller/gate.go"
	return []mutation{
		{
			what: "gate: a reload counts against no limit",
			file: churn,
			from: "d.Ledger.ChurnUntil = seconds(until.Add(interval(l)))", to: "d.Ledger.ChurnUntil = seconds(until)",
			in: "./internal/gate", tests: "^TestAsManyReloadsAsTheLimitAllowsStartAtOnceAndTheNextOneWaits$",
		},
		{
			what: "gate: what the ledger says of earlier reloads is believed without a bound",
			file: churn,
			from: "		return now\n", to: "		return until\n",
			in: "./internal/gate", tests: "^TestALedgerThatTheLimitCannotLeadToDelaysNothing$",
		},
		{
			what: "gate: the ledger does not show that a reload waits",
			file: shell,
			from: "begins && (!held.Restores", to: "false && begins && (!held.Restores",
			in: controller, tests: "^TestWhatWaitsAndIsSetBackIsNotTakenForUnchanged$",
		},
		{
			what: "gate: Pods that lack the data count as checked while their reload waits",
			file: shell,
			from: "outdated.Pods = nil", to: "outdated.Now = facts.Now",
			in: controller, tests: "^TestARevertedTemplateWhoseReloadWaitsIsRolledLater$",
		},
		{
			what: "gate: data whose reload waits is compared as any other",
			file: "internal/reload/compare.go",
			from: "case digest.IsZero():", to: "case false:",
			in: "./internal/reload", tests: "^Test",
		},
		{
			what: "gate: nothing in a ledger of many sources shows that a reload waits",
			file: "internal/reload/decide.go",
			from: "case i == waits:", to: "case i == waits && false:",
			in: "./internal/reload", tests: "^TestOneDigestForManySources$",
		},
		{
			what: "gate: reloads during a pause count one by one",
			file: churn,
			from: "return f.Workload.Pause.Ours()", to: "return false && f.Workload.Pause.Ours()",
			in: controller, tests: "^TestReloadsDuringAPauseCountOnce$",
		},
		{
			what: "gate: another limit of the namespace counts only at the next change",
			file: shell,
			from: "		c.queue.Add(key, 0, 0)\n", to: "		_ = key\n",
			in: controller, tests: "^TestAnotherLimitCountsAtOnce$",
		},
	}
}

// waves are mutations of what rolls workloads one after the other.
func waves() []mutation {
	const turns, member, shell = "internal/gate/turns.go", "internal/gate/member.go", "internal/controller/waves.go"
	const whatever = "^TestWhateverComesWavesHold$"
	return []mutation{
		{
			what: "waves: more workloads roll than the budget",
			file: turns,
			from: "n >= f.budget() && !m.occupies() {", to: "n > f.budget() && !m.occupies() {",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a failure stops nothing",
			file: turns,
			from: "if f.Stopped() && !m.refused() {", to: "if false {",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a lower wave need not be done",
			file: turns,
			from: "some && w.number < m.Wave", to: "some && w.number < m.Wave && false",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a wave is done while a workload rolls",
			file: turns,
			from: "		if w.count[Waiting]+w.count[Running] > 0 {\n			return w, true", to: "		if w.count[Waiting] > 0 {\n			return w, true",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a place is not reserved before the write",
			file: "internal/gate/waves.go",
			from: "		fleet.reserve(f.Workload.Key)\n", to: "",
			in: "./internal/gate", tests: "^TestAPlaceIsReservedBeforeTheWrite$",
		},
		{
			what: "waves: who waits is not told when its turn comes",
			file: turns,
			from: "next = append(next, key)", to: "_ = key",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: an answer grows with the fleet",
			file: turns,
			from: "w.asked = w.asked[1:]", to: "w.asked = slices.Clone(w.asked[1:])",
			in: "./internal/gate", tests: "^TestATurnDoesNotGrowWithTheFleet$",
		},
		{
			what: "waves: a percentage that rounds to nothing is nothing",
			file: "internal/annotations/waves.go",
			from: "max(all*int(s.Number)/100, 1)", to: "all * int(s.Number) / 100",
			in: "./internal/annotations", tests: "^TestShares$",
		},
		{
			what: "waves: the health of the previous Pods counts",
			file: member,
			from: "case w.HasRolled() && !t.Following:", to: "case w.AllAvailable():",
			in: controller, tests: "^TestAFailureStopsTheRestUntilItRecovers$",
		},
		{
			what: "waves: no soak time",
			file: member,
			from: "m.Due = m.since.Add(s.Soak); !m.Due", to: "m.Due = m.since; !m.Due",
			in: controller, tests: "^TestASoakDelaysTheNextWave$",
		},
		{
			what: "waves: what was broken before stops the rest",
			file: member,
			from: "m.State == Failed && known.Turn.Broken", to: "m.State == Failed && false",
			in: controller, tests: "^TestWhatWasBrokenBeforeIsNoFailure$",
		},
		{
			what: "waves: a canary that earlier data broke is excused",
			file: member,
			from: "turn.Broken = before.Broken", to: "turn.Broken = true",
			in: controller, tests: "^TestABrokenCanaryIsNotExcusedForTheNextData$",
		},
		{
			what: "waves: a consent is for any data",
			file: "internal/gate/wave_settings.go",
			from: "own.Resumed == src.Digest.String()", to: "own.Resumed != \"x\"",
			in: controller, tests: "^TestAConsentIsForOneContent$",
		},
		{
			what: "waves: urgent changes wait, too",
			file: "internal/gate/storm.go",
			from: "Waves.Waves().Urgent })", to: "Waves.Waves().Urgent && false })",
			in: controller, tests: "^TestAFailureStopsTheRestUntilItRecovers$",
		},
		{
			what: "waves: a workload that waits for another source holds up the rest",
			file: "internal/gate/waves.go",
			from: "!stopped.Open() && !fleet.Stopped()", to: "false",
			in: "./internal/gate", tests: "^TestAWorkloadHeldByOneSourceBlocksNobodyOfTheOther$",
		},
		{
			what: "waves: a reload that is rejected for ever is awaited for ever",
			file: member,
			from: "case refused:", to: "case refused && false:",
			in: controller, tests: "^TestAReloadThatIsRejectedTryAfterTryStopsTheRest$",
		},
		{
			what: "waves: a write without an answer keeps its place for ever",
			file: shell,
			from: "r.sent != nil && r.refused < refusedOften", to: "r.sent != nil",
			in: controller, tests: "^TestAPlaceIsFreeAgainIfAWriteIsNeverAnswered$",
		},
		{
			what: "waves: an edit of a setting forgets what is being written",
			file: shell,
			from: "		built.Inherit(before.Fleet)\n", to: "",
			in: controller, tests: "^TestAnEditOfASettingKeepsWhatIsBeingWritten$",
		},
		{
			what: "waves: a workload of which nothing is known starts at once",
			file: "internal/gate/waves.go",
			from: "; !in {", to: "; !in && false {",
			in: "./internal/gate", tests: "^TestAWorkloadThatIsNoMemberIsDecidedAgain$",
		},
		{
			what: "waves: what is down at a restart is done",
			file: member,
			from: "	if !w.AllAvailable() {\n		m.dipped = true", to: "	if !w.AllAvailable() && before.ended.IsZero() {\n		m.State = Done\n		return\n	} else if !w.AllAvailable() {\n		m.dipped = true",
			in: controller, tests: "^TestWhatIsDownAtARestartIsNotDone$",
		},
		{
			what: "waves: a canary that went down is excused for the next data",
			file: "internal/gate/fleet.go",
			from: "!same && was.Rolled && was.State == Failed", to: "false",
			in: controller, tests: "^TestACanaryThatWentDownIsNotExcusedForTheNextData$",
		},
		{
			what: "waves: the next leader does not count a rollout with earlier data",
			file: member,
			from: "(!t.Unsure || !t.Unlisted)", to: "!t.Unsure",
			in: controller, tests: "^TestANextLeaderCountsARolloutWithEarlierData$",
		},
		{
			what: "waves: a first ledger that is rejected is not counted",
			file: "internal/controller/reconcile.go",
			from: "		c.countRefusal(w.Key, err)\n", to: "		if d.Action == reload.Reload {\n			c.countRefusal(w.Key, err)\n		}\n",
			in: controller, tests: "^TestAWorkloadThatCannotBeRecordedStopsTheWaves$",
		},
		{
			what: "waves: a turn searches all that roll with earlier data",
			file: "internal/gate/fleet.go",
			from: "if m.asked && m.occupies() {", to: "if m.occupies() {",
			in: "./internal/gate", tests: "^TestATurnSearchesOnlyWorkloadsThatAsked$",
		},
		{
			what: "waves: Pods that cannot be listed are awaited for ever",
			file: member,
			from: "case t.Unlisted:", to: "case t.Unlisted && false:",
			in: controller, tests: "^TestPodsThatCannotBeListedAfterARestartAreReportedInTheEnd$",
		},
		{
			what: "waves: a rollout that nothing tracks takes its place for ever",
			file: member,
			from: "deadline.After(now) {", to: "true {",
			in: controller, tests: "^TestARolloutOfAUserTakesItsPlaceOnlyUntilItsDeadline$",
		},
		{
			what: "waves: the end of a rollout starts nobody",
			file: shell,
			from: "		for _, key := range f.Next() {", to: "		for _, key := range f.Next()[:0] {",
			in: controller, tests: "^TestWavesGoOneAfterTheOther$",
		},
	}
}

// halts are mutations of what starts no reload while too many fail.
func halts() []mutation {
	const storm, shell = "internal/gate/storm.go", "internal/controller/halt.go"
	return []mutation{
		{
			what: "halt: failures halt nothing",
			file: storm,
			from: "	return sum >= most\n", to: "	return sum >= most && false\n",
			in: controller, tests: "^TestTooManyFailedReloadsHaltTheOthersUntilTheyRecover$",
		},
		{
			what: "halt: a percentage is rounded down",
			file: "internal/gate/halt.go",
			from: "h.Last + 99) / 100", to: "h.Last) / 100",
			in: "./internal/gate", tests: "^TestHaltsAreReadAndWritten$",
		},
		{
			what: "halt: what failed is not rolled with newer data",
			file: storm,
			from: "case own.Failed:", to: "case own.Failed && false:",
			in: "./internal/gate", tests: "^TestTooManyFailuresHaltAllReloadsUntilTheyAreFewer$",
		},
		{
			what: "halt: one more try of what failed counts as a success",
			file: storm,
			from: "|| known.Turn.Again,", to: "|| false,",
			in: controller, tests: "^TestTooManyFailedReloadsHaltTheOthersUntilTheyRecover$",
		},
		{
			what: "halt: what was broken before counts",
			file: storm,
			from: "if known.Turn.Broken || ", to: "if ",
			in: "./internal/gate", tests: "^TestWhatCountsAsAFailedReload$",
		},
		{
			what: "halt: another image counts as the reload",
			file: storm,
			from: "known.Turn.Template != w.Template || ", to: "",
			in: controller, tests: "^TestWhatAUserRollsLaterIsNoFailureOfTheReload$",
		},
		{
			what: "halt: one tenant halts the others",
			file: storm,
			from: "min(n, max(most/2, 1))", to: "n",
			in: "./internal/gate", tests: "^TestOneNamespaceAloneDoesNotHaltAnother$",
		},
		{
			what: "halt: an accepted failure is accepted for ever",
			file: storm,
			from: "	if l.At <= s.accepted {\n		return\n", to: "	if s.accepted > 0 {\n		return\n",
			in: "./internal/gate", tests: "^TestAnAcceptedFailureIsWorthlessForLaterOnes$",
		},
		{
			what: "halt: failures to come can be accepted",
			file: shell,
			from: "until > c.clock.Now().Unix()", to: "false",
			in: controller, tests: "^TestAUserAcceptsFailedReloadsAndNoLaterOnes$",
		},
		{
			what: "halt: the end of a halt starts nobody",
			file: shell,
			from: "			delete(c.storm.waiting, key)\n			c.queue.Add(key, 0, 0)\n", to: "			delete(c.storm.waiting, key)\n",
			in: controller, tests: "^TestTooManyFailedReloadsHaltTheOthersUntilTheyRecover$",
		},
		{
			what: "halt: a restart ends it",
			file: storm,
			from: "case s.unsure > 0 && s.reaches", to: "case false && s.reaches",
			in: "./internal/gate", tests: "^TestAfterARestartItWaitsUntilThePodsHaveBeenListed$",
		},
		{
			what: "halt: the next leader takes for successful what it has not looked into",
			file: shell,
			from: "	c.storm.Refill()\n", to: "",
			in: controller, tests: "^TestTheNextLeaderWaitsUntilItHasListedThePods$",
		},
		{
			what: "halt: no earlier reload takes the place of a deleted one",
			file: storm,
			from: "	if known && now.At < before.At {", to: "	if known && false {",
			in: "./internal/gate", tests: "^TestWhateverComesTheLatestReloadsCount$",
		},
		{
			what: "halt: urgent changes wait, too",
			file: storm,
			from: "if ask == nil || isUrgent(d) {", to: "if ask == nil {",
			in: "./internal/gate", tests: "^TestAnUrgentChangePassesAHaltAndNoLimit$",
		},
	}
}
