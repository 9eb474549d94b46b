package main

// defaults are mutations of what annotations of namespaces set for their workloads.
func defaults() []mutation {
	const evidence = "internal/reload/unseen_edit.go"
	return []mutation{
		{
			what: "defaults: what changed before a namespace opted in rolls its workloads",
			file: "internal/state/defaults.go",
			from: "if version != 0 && now.Widens(", to: "if false && now.Widens(",
			in: controller, tests: "^TestANamespaceOptsInItsWorkloads",
		},
		{
			what: "defaults: since when a namespace opts in does not matter",
			file: evidence,
			from: "return f.OptedInByNamespaceAt, optedIn", to: "return f.Installed, optedIn",
			in: controller, tests: "^TestANamespaceThatIsAnnotatedWhile",
		},
		{
			what: "defaults: an annotation for one kind of source counts as opting in for all",
			file: evidence,
			from: "verdict.Rule == policy.RuleAutoAll || verdict.Rule == policy.RuleAutoNamespace", to: "verdict.Rule == policy.RuleAutoAll",
			in: core, tests: "^TestAnEditThatNobodySaw",
		},
		{
			what: "defaults: a workload cannot opt out of its namespace",
			file: "internal/policy/verdict.go",
			from: "	case k.auto == unset && k.typed == unset:", to: "	case true:",
			in: controller, tests: "^TestAWorkloadThatOptsOutBeats",
		},
		{
			what: "defaults: a namespace cannot opt out of the flag",
			file: "internal/policy/namespace.go",
			from: "p.byDefault == unset && autoReloadAll", to: "autoReloadAll",
			in: controller, tests: "^TestANamespaceThatOptsOutBeats",
		},
		{
			what: "defaults: those of a snapshot apply to no workload",
			file: "internal/state/namespaces.go",
			from: "	s.inheritPending()\n", to: "",
			in: controller, tests: "^TestDefaultsOfASnapshot",
		},
		{
			what: "defaults: a snapshot of namespaces counts as a change of their workloads",
			file: "internal/state/workloads.go",
			from: "if same != nil && s.defaultsPending {", to: "if false {",
			in: known, tests: "^TestSinceWhenANamespaceOptsIn$",
		},
		{
			what: "defaults: the workloads of a namespace are not reconciled when it opts in",
			file: "internal/controller/namespaces.go",
			from: "		c.enqueue(key, false)\n	}\n	if differs", to: "	}\n	if differs",
			in: controller, tests: "^TestANamespaceOptsInItsWorkloads",
		},
		{
			what: "agreement: the commands read namespaces that the controller does not watch",
			file: "internal/rules/namespaces.go",
			from: "	if !s.WatchesNamespaces() {\n		return known", to: "	if false {\n		return known",
			in: controller, tests: "^TestTheControllerAndItsExplanationsAgree$",
		},
	}
}

// notifications are mutations of the mode in which users roll a workload.
func notifications() []mutation {
	const shell, once = "internal/controller/notify_mode.go", "^TestEachChangeIsNotifiedOnce"
	return []mutation{
		{
			what: "alerts: a chat makes a link of a name of a tenant",
			file: "internal/report/phrase.go",
			from: "|| afterDot && isLetter(r) {", to: "|| afterDot && r == 0 {",
			in: "./internal/report", tests: "ShowsTextsOfTenantsAsTheyAre$",
		},
		{
			what: "notify: each reconciliation is an event",
			file: shell,
			from: "owed = r.owes == note", to: "owed = true",
			in: controller, tests: once,
		},
		{
			what: "notify: a second change is no event",
			file: "internal/reload/deferred.go",
			from: "	if note {", to: "	if note && next.Noted.IsZero() {",
			in: controller, tests: once,
		},
		{
			what: "notify: the rollout of a user does not end it",
			file: "internal/controller/feeds.go",
			from: " || c.rolledByUser(w):", to: ":",
			in: controller, tests: "^TestTheRolloutOfAUserEndsIt$",
		},
		{
			what: "defaults: the version of a Job that is about to be recreated is compared without the defaults of its namespace",
			file: "internal/controller/recreate_job_copy.go",
			from: "	now = c.state.Complete(now) //", to: "	//",
			in: controller, tests: "^TestJobHistories$",
		},
		{
			what: "notify: a lost response loses the event",
			file: "internal/controller/gate.go",
			from: "			return err\n		}\n	}\n	awaits :=", to: "			c.with(w.Key, func(r *record) { r.owes = digest.Digest{} })\n			return err\n		}\n	}\n	awaits :=",
			in: controller, tests: "^TestALostResponseLosesNoNotification$",
		},
		{
			what: "notify: a mode that cannot be read reloads",
			file: "internal/gate/notify.go",
			from: "	default:\n		return Answer{By: Notify, Why", to: "	default:\n		return Answer{Why",
			in: controller, tests: "^TestTheMostSpecificModeCounts$",
		},
		{
			what: "notify: later waves wait for a user",
			file: "internal/gate/wave_member.go",
			from: "	case !checkNotify(f).Open():", to: "	case false:",
			in: controller, tests: "^TestALaterWaveDoesNotWaitForAUser$",
		},
		{
			what: "notify: a mode that changes while Pods are listed does not count",
			file: "internal/controller/freeze.go",
			from: "	facts.Workload.Policy = facts.Workload.Policy.Under(facts.Defaults)\n", to: "",
			in: controller, tests: "^TestAModeThatChangesMeanwhileCounts$",
		},
		{
			what: "notify: a status shows that a workload waits, and not that it is out of date",
			file: "internal/inspect/conclude.go",
			from: "	case d.Action == reload.Reload && a.Gate.By == gate.Notify:", to: "	case false:",
			in: "./internal/inspect", tests: "^TestStatus$",
		},
	}
}
