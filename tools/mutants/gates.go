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
			from: "needed && (!held.Restores", to: "false && needed && (!held.Restores",
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
	const fleet, member, shell = "internal/gate/fleet.go", "internal/gate/member.go", "internal/controller/waves.go"
	const whatever = "^TestWhateverComesWavesHold$"
	return []mutation{
		{
			what: "waves: more workloads roll than the budget",
			file: fleet,
			from: "n >= f.budget() && !m.occupies() {", to: "n > f.budget() && !m.occupies() {",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a failure stops nothing",
			file: fleet,
			from: "if f.Stopped() {\n\t\tclosed", to: "if false {\n\t\tclosed",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a lower wave need not be done",
			file: fleet,
			from: "some && w.number < m.Wave", to: "some && w.number < m.Wave && false",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a wave is done while a workload rolls",
			file: fleet,
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
			file: fleet,
			from: "next = append(next, key)", to: "_ = key",
			in: "./internal/gate", tests: whatever,
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
			file: "internal/gate/settings.go",
			from: "own.Resumed == src.Digest.String()", to: "own.Resumed != \"x\"",
			in: controller, tests: "^TestAConsentIsForOneContent$",
		},
		{
			what: "waves: urgent changes wait, too",
			file: "internal/gate/waves.go",
			from: "Waves.Waves().Urgent {", to: "Waves.Waves().Urgent && false {",
			in: controller, tests: "^TestAFailureStopsTheRestUntilItRecovers$",
		},
		{
			what: "waves: a workload that waits for another source holds up the rest",
			file: "internal/gate/waves.go",
			from: "!stopped.Open() && !fleet.Stopped()", to: "false",
			in: "./internal/gate", tests: "^TestAWorkloadHeldByOneSourceBlocksNobodyOfTheOther$",
		},
		{
			what: "waves: the end of a rollout starts nobody",
			file: shell,
			from: "		for _, key := range f.Next() {", to: "		for _, key := range f.Next()[:0] {",
			in: controller, tests: "^TestWavesGoOneAfterTheOther$",
		},
	}
}
