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
