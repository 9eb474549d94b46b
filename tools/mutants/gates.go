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
			what: "gate: the ledger does not show that what waits has no time",
			file: "internal/reload/deferred.go",
			from: "		if c.Seen.Timeless {", to: "		if c.Seen.Timeless && c.Deleted {",
			in: core, tests: "^TestARestartForgetsNoRemovedKeyWhoseReloadWaits$",
		},
		{
			what: "gate: what waits without a time is written only with another source",
			file: "internal/reload/deferred.go",
			from: "next.DataTime != base.ledger.DataTime || ", to: "",
			in: core, tests: "^TestARestartForgetsNoRemovedKeyWhoseReloadWaits$",
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

// halts are mutations of what starts no reload while too many fail.
func halts() []mutation {
	const storm, shell = "internal/gate/halt_storm.go", "internal/controller/halt.go"
	return []mutation{
		{
			what: "halt: failures halt nothing",
			file: storm,
			from: "return s.halt != Halt{} && sum >= most\n", to: "return s.halt != Halt{} && sum >= most && false\n",
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
			what: "halt: each publication causes the next one",
			file: shell,
			from: "!reflect.DeepEqual(before, now)", to: "before.Is() || now.Is()",
			in: controller, tests: "^TestAHaltThatStaysIsPublishedOnce$",
		},
		{
			what: "halt: a restart ends it",
			file: storm,
			from: "case s.mayHaltIn(ns):", to: "case false && s.mayHaltIn(ns):",
			in: "./internal/gate", tests: "^TestAfterARestartItWaitsUntilThePodsHaveBeenListed$",
		},
		{
			what: "halt: reloads of unknown outcome in one namespace keep all others waiting",
			file: storm,
			from: "		perhaps[of] += n\n", to: "		perhaps[ns+of[len(of):]] += n\n",
			in: "./internal/gate", tests: "^TestReloadsOfUnknownOutcomeWaitWithinTheCapOfTheirNamespace$",
		},
		{
			what: "halt: commands take a rollout of another client for a reload",
			file: "internal/inspect/waves.go",
			from: "!own || w.HasRolled()", to: "!own && false || w.HasRolled()",
			in: "./internal/inspect", tests: "^TestARolloutOfAnotherClientIsNotTracked$",
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
