package main

// soaks are mutations of what commands and pages show of the soak time.
func soaks() []mutation {
	const shown, ofPods = "internal/inspect/waves.go", "^TestAStatefulSetSoaksSinceItsPodsAreReady$"
	return []mutation{
		{
			what: "soak: a StatefulSet soaks for ever in the commands",
			file: shown,
			from: "	return rollout.AvailableSince(w, a.Pods.of(w))\n", to: "	return time.Time{}\n",
			in: "./internal/inspect", tests: ofPods,
		},
		{
			what: "soak: it starts again with each controller",
			file: "internal/controller/waves.go",
			from: "		return gate.Tracked{Lists: true}\n", to: "		return gate.Tracked{}\n",
			in: controller, tests: "^TestASoakTimeDoesNotStartAgainWithEachController$",
		},
		{
			what: "soak: Pods that cannot be listed are awaited for ever",
			file: "internal/controller/available.go",
			from: "	if failed >= unlistedOften {", to: "	if failed < 0 {",
			in: controller, tests: "^TestASoakTimeCountsFromNowIfNothingShowsMore$",
		},
		{
			what: "soak: the Pods are listed once more at the end of each rollout",
			file: "internal/controller/rollout_pods.go",
			from: "	if ended && c.fleets.some.Load() {", to: "	if ended && !c.fleets.some.Load() {",
			in: controller, tests: "^TestTheEndOfARolloutListsPodsOnce$",
		},
		{
			what: "soak: a Pod that is ready is available",
			file: "internal/rollout/pods.go",
			from: ".Add(w.Progress.MinReady)", to: "",
			in: "./internal/inspect", tests: ofPods,
		},
		{
			what: "soak: the Pods that are not ready do not count",
			file: "internal/rollout/pods.go",
			from: "if !pods[i].Ready || pods[i].ReadySince.IsZero() {", to: "if pods == nil {",
			in: "./internal/inspect", tests: ofPods,
		},
		{
			what: "soak: the pages of the controller do not ask it",
			file: shown,
			from: "live != nil && live.member != nil {", to: "live != nil && live.member == nil {",
			in: "./internal/inspect", tests: "^TestTheControllerKnowsMoreOfItsWaves$",
		},
		{
			what: "soak: the page Gates contradicts the page Now",
			file: "internal/web/gates_page.go",
			from: "				if m.Soaking {", to: "				if false {",
			in: "./internal/web", tests: "^TestAWorkloadThatSoaksIsUpToDate$",
		},
	}
}

// notices are mutations of what keeps a restart from repeating a notice.
func notices() []mutation {
	const shell, once = "internal/controller/halt.go", "internal/report/events_once.go"
	const halted = "^TestARestartRepeatsNoNoticeOfAHalt$"
	return []mutation{
		{
			what: "notices: a restart reports a stop again",
			file: "internal/controller/waves.go",
			from: "	n.Once = f.namespace + \" \" + f.source.Digest.String()\n", to: "",
			in: controller, tests: "^TestARestartRepeatsNoNoticeOfAStop$",
		},
		{
			what: "notices: a stop with other data is the same one",
			file: "internal/controller/waves.go",
			from: "	n.Once = f.namespace + \" \" + f.source.Digest.String()\n", to: "	n.Once = f.namespace\n",
			in: controller, tests: "^TestARestartRepeatsNoNoticeOfAStop$",
		},
		{
			what: "notices: a restart reports a closed window again",
			file: "internal/controller/gate.go",
			from: "	n.Once = fmt.Sprintf(\"%s %d %s %s %s\", answer.By, d.Ledger.Counter, answer.Source, data, n.Once)", to: "	_ = data",
			in: controller, tests: "^TestARestartRepeatsNoNoticeOfAClosedWindow$",
		},
		{
			what: "notices: a restart reports a halt again",
			file: shell,
			from: "	c.storm.before = published.Is()\n", to: "	_ = published\n",
			in: controller, tests: halted,
		},
		{
			what: "notices: a halt ends until the Pods are listed",
			file: shell,
			from: "case before && !halted && unsure:", to: "case before && !halted && unsure && false:",
			in: controller, tests: "^TestAHaltGoesOnUntilThePodsAreListed$",
		},
		{
			what: "notices: the next controller gives an event another name",
			file: once,
			from: "	if _, known := o.names[name]; known {", to: "	if true {",
			in: "./internal/report", tests: "^TestControllersThatFollowEachOtherGiveAnEventOneName$",
		},
		{
			what: "notices: what happens again has the name of the first event",
			file: once,
			from: "	if _, known := o.names[name]; known {", to: "	if false {",
			in: "./internal/report", tests: "^TestControllersThatFollowEachOtherGiveAnEventOneName$",
		},
		{
			what: "notices: an event that exists is another alert",
			file: "internal/report/events.go",
			from: "	if apierrors.IsAlreadyExists(err) {", to: "	if apierrors.IsAlreadyExists(err) && event.Namespace == \"\" {",
			in: "./internal/report", tests: "^TestAnEventThatExistsIsNoOtherAlert$",
		},
	}
}

// repeats are mutations of what is reported again, or not too often.
func repeats() []mutation {
	return []mutation{
		{
			what: "notify: each change is notified",
			file: "internal/controller/gate.go",
			from: "		awaits.notified = facts.Now\n", to: "		_ = notifyIn\n",
			in: controller, tests: "^TestASourceThatIsWrittenInALoop",
		},
		{
			what: "namespaces: one that no longer opts out rolls earlier changes",
			file: "internal/reload/unseen_edit.go",
			from: "		since = f.OptedInByNamespaceAt // until", to: "		_ = since // until",
			in: controller, tests: "^TestANamespaceThatOptsOutNoLonger",
		},
		{
			what: "namespaces: a command that waits reads them once",
			file: "internal/inspect/wait.go",
			from: "clk.Since(read) >= again", to: "read.IsZero() && false",
			in: "./internal/inspect", tests: "^TestACommandThatWaitsReads",
		},
	}
}
