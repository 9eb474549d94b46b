package main

// waves are mutations of what rolls workloads one after the other.
func waves() []mutation {
	const turns, member, shell = "internal/gate/wave_turns.go", "internal/gate/wave_member.go", "internal/controller/waves.go"
	const whatever = "^TestWhateverComesWavesHold$"
	return []mutation{
		{
			what: "waves: more workloads roll than the budget",
			file: turns,
			from: "n-m.place() >= f.budget() && !m.occupies() {", to: "n-m.place() > f.budget() && !m.occupies() {",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a rollout with earlier data takes no place",
			file: member,
			from: "m.Behind = t.Following && !t.Late && ", to: "m.Behind = t.Following && t.Late && ",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: after a restart, what failed with earlier data takes a second place",
			file: "internal/gate/wave_fleet.go",
			from: "m.Behind && !m.Doubt && ", to: "m.Behind && ",
			in: "./internal/gate", tests: "^TestARolloutWithEarlierDataHasAPlace$",
		},
		{
			what: "waves: after a restart, what may have failed stops nothing",
			file: member,
			from: "m.State, m.Unsure = Running, true", to: "m.State = Running",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a workload that soaks is done",
			file: member,
			from: "m.Due = m.since.Add(s.Soak); !m.Due.After(now) {", to: "m.Due = m.since.Add(s.Soak); true {",
			in: "./internal/gate", tests: whatever,
		},
		{
			what: "waves: a ledger with earlier data counts as rolled",
			file: member,
			from: "	return ok && f.IsCurrent(src, sum)", to: "	return ok && (!sum.IsZero() || f.IsCurrent(src, sum))",
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
			from: "	case known.Turn.Broken:", to: "	case false:",
			in: controller, tests: "^TestWhatWasBrokenBeforeIsNoFailure$",
		},
		{
			what: "waves: a workload that Reroll never reloaded stops the rest",
			file: member,
			from: "case known.Counter == 0 || known.Marks.IsZero():", to: "case false:",
			in: controller, tests: "^TestAWorkloadThatWasNeverReloadedStopsNoWaves$",
		},
		{
			what: "waves: a later rollout of a workload that was done stops the rest",
			file: member,
			from: "	case m.done:", to: "	case false:",
			in: controller, tests: "^TestADoneWorkload",
		},
		{
			what: "waves: a canary that was replaced before it was done is excused",
			file: member,
			from: "	case m.done:", to: "	default:",
			in: controller, tests: "^TestACanaryThatFailsWithAnotherRolloutIsNotExcused$",
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
			file: "internal/gate/halt_storm.go",
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
			file: "internal/gate/wave_fleet.go",
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
			file: "internal/controller/apply.go",
			from: "		c.countRefusal(w.Key, err)\n", to: "		if d.Action == reload.Reload {\n			c.countRefusal(w.Key, err)\n		}\n",
			in: controller, tests: "^TestAWorkloadThatCannotBeRecordedStopsTheWaves$",
		},
		{
			what: "waves: a turn searches all that roll with earlier data",
			file: "internal/gate/wave_fleet.go",
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
			what: "waves: a tenant holds up the workloads of the others",
			file: "internal/state/waves.go",
			from: "	if key.Namespace != \"\" {", to: "	if true {",
			in: controller, tests: "^TestATenantHoldsUpNoWorkload",
		},
		{
			what: "waves: a workload with hundreds of sources starts at once",
			file: member,
			from: "return f.AllCurrent(key.Kind, all)", to: "return !all.Digest.IsZero()",
			in: controller, tests: "^TestAWorkloadWithHundredsOfSourcesWaitsForItsTurn$",
		},
		{
			what: "waves: an edit of an annotation reports a stop again",
			file: shell,
			from: "if built.stopped && (!same || !before.stopped) {", to: "if built.stopped {",
			in: controller, tests: "^TestAnEditOfAnAnnotationRepeatsNoNoticeOfAStop$",
		},
		{
			what: "waves: the namespace beats the source",
			file: "internal/gate/wave_settings.go",
			from: "		{own, func", to: "		{namespace, func(key, _ string) string { return key + \" on the namespace\" }, false},\n		{own, func",
			in: "./internal/gate", tests: "^TestTheMostSpecificSettingOfWavesCounts$",
		},
		{
			what: "waves: the end of a rollout starts nobody",
			file: shell,
			from: "		for _, key := range f.Next() {", to: "		for _, key := range f.Next()[:0] {",
			in: controller, tests: "^TestWavesGoOneAfterTheOther$",
		},
	}
}
