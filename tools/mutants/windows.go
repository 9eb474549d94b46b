package main

// windows are mutations of what limits reloads to certain times.
func windows() []mutation {
	const gates, arithmetic, shell = "internal/gate/window.go", "./internal/window", "internal/controller/window.go"
	const controller = "./internal/controller"
	return []mutation{
		{
			what: "windows: one that cannot be read is open",
			file: gates,
			from: "	if bad != nil {", to: "	if false {",
			in: "./internal/gate", tests: "^TestTheMostSpecificWindow",
		},
		{
			what: "windows: those of a source do not count",
			file: gates,
			from: "windowOf(src) != \"\" && !seen[src.Key] {", to: "windowOf(src) != \"\" && seen[src.Key] {",
			in: "./internal/gate", tests: "^TestTheMostSpecificWindow",
		},
		{
			what: "windows: one of a source that waits as one digest with others does not count",
			file: gates,
			from: "aggregated && total.Digest.IsZero()", to: "aggregated && !total.Digest.IsZero()",
			in: "./internal/gate", tests: "^TestTheWindowsOfAllSources",
		},
		{
			what: "windows: each window has all steps of a search",
			file: gates,
			from: "		searches[i] = all[i].SearchFrom(now, &steps)", to: "		own := steps\n		searches[i] = all[i].SearchFrom(now, &own)",
			in: "./internal/gate", tests: "^TestTheSearchForAnOpeningIsBounded$",
		},
		{
			what: "windows: one that never begins is searched for each minute",
			file: "internal/window/window.go",
			from: "		if !s.begins[i].After(t) {", to: "		if true {",
			in: arithmetic, tests: "^TestASearchAsksAWindowOnce",
		},
		{
			what: "windows: an urgent change waits",
			file: gates,
			from: "	if isUrgent(d) {", to: "	if false {",
			in: controller, tests: "^TestAnUrgentSourcePassesAWindow$",
		},
		{
			what: "windows: nothing starts when one opens",
			file: shell,
			from: "retryAfter(min(until.Sub(now), gateAgain))", to: "errLater",
			in: controller, tests: "^TestWhatWaitsStarts",
		},
		{
			what: "windows: an opening that is far away is never reached",
			file: shell,
			from: "		return retryAfter(gateAgain)", to: "		return errLater",
			in: controller, tests: "^TestAWindowInYearsIsReached$",
		},
		{
			what: "windows: a bad one holds up later waves",
			file: "internal/gate/wave_member.go",
			from: "	case hasBadWindow(f, known):", to: "	case false:",
			in: controller, tests: "^TestALaterWaveWaits",
		},
		{
			what: "windows: a bad one of a source holds up later waves of another source",
			file: gates,
			from: "	return slices.ContainsFunc(f.Concerns,", to: "	return false && slices.ContainsFunc(f.Concerns,",
			in: controller, tests: "^TestABadWindowOfOneSource",
		},
		{
			what: "windows: the time of the decision counts, and not that of the start",
			file: "internal/controller/gate.go",
			from: "	facts.Now = c.clock.Now() //", to: "	_ = c.clock.Now() //",
			in: controller, tests: "^TestAWindowThatClosesWhilePodsAreListed",
		},
		{
			what: "windows: a reload that waits has to await its rollout again when one opens",
			file: "internal/controller/apply.go",
			from: "	case !starts(d): // a reload that a gate holds", to: "	default: // a reload that a gate holds",
			in: controller, tests: "^TestAReloadHasAwaitedItsRollout",
		},
		{
			what: "windows: a denied time is allowed",
			file: "internal/window/window.go",
			from: "return s.denied(t) == nil && s.allowed(t)", to: "return s.allowed(t)",
			in: arithmetic, tests: "^TestWhenItIsOpen",
		},
		{
			what: "windows: a night begins on the day on which it ends",
			file: "internal/window/hours.go",
			from: "h.starts(number-1) && second", to: "h.starts(number) && second",
			in: arithmetic, tests: "^TestWhenItIsOpen",
		},
		{
			what: "windows: clocks never change",
			file: "internal/window/wall.go",
			from: "now.end.Before(next) {", to: "now.end.Before(next) && false {",
			in: arithmetic, tests: "^TestOnDaysWhenClocksChange$",
		},
		{
			what: "windows: a cron start that the clocks skip never happens",
			file: "internal/window/cron.go",
			from: "wallOf(change.Add(-time.Second), zone)+1, wallOf(change, zone))", to: "wallOf(change, zone)+1, wallOf(change, zone))",
			in: arithmetic, tests: "^TestOnDaysWhenClocksChange$",
		},
		{
			what: "windows: a run of the schedule that begins while a reload waits does not count",
			file: "internal/controller/trigger_cronjob.go",
			from: "	c.noteBegun(w, jobs, facts.Version)\n", to: "",
			in: controller, tests: "^TestARunOfTheScheduleThatBegins",
		},
		{
			what: "windows: the runs are not listed when a reload begins to wait",
			file: "internal/controller/reconcile.go",
			from: "		err = c.listHeld(ctx, facts, &d)\n", to: "",
			in: controller, tests: "^TestARunOfTheScheduleThatBegins",
		},
		{
			what: "windows: a run from before a change counts as one that began while the reload waited",
			file: "internal/controller/begun_runs.go",
			from: "			next.since[job.UID] = since", to: "			next.since[job.UID] = max(since, b.version+1)",
			in: controller, tests: "^TestARunOfTheScheduleThatBegins",
		},
		{
			what: "windows: the runs are listed once, and not for each change that waits",
			file: "internal/controller/begun_runs.go",
			from: "if begun != nil && !slices", to: "if begun != nil || !slices",
			in: controller, tests: "^TestARunOfTheScheduleThatBegins",
		},
	}
}
