package main

// freezes are mutations of what starts no reload during an incident.
func freezes() []mutation {
	const gates, engine = "internal/gate/freeze.go", "internal/controller/freeze.go"
	return []mutation{
		{
			what: "freeze: one that cannot be read holds nothing",
			file: gates,
			from: "return f, f.Err != nil || f.Until", to: "return f, f.Err == nil && f.Until",
			in: controller, tests: "^TestABadFreeze",
		},
		{
			what: "freeze: the one that ends first counts",
			file: gates,
			from: "all[i].Until.After(last.Until)", to: "all[i].Until.Before(last.Until)",
			in: "./internal/gate", tests: "^TestTheFreezeThatEndsLast",
		},
		{
			what: "freeze: an urgent change waits",
			file: gates,
			from: "len(all) == 0 || isUrgent(d)", to: "len(all) == 0",
			in: controller, tests: "^TestAnUrgentChangePassesAFreeze$",
		},
		{
			what: "freeze: one of a namespace does not count",
			file: "internal/annotations/waves.go",
			from: "	} else {\n		w.Freeze =", to: "	} else {\n		_ =",
			in: controller, tests: "^TestNothingIsRolledUntilAFreezeEnds$",
		},
		{
			what: "freeze: a reload starts during one, in histories",
			file: gates,
			from: "len(all) == 0 || isUrgent(d)", to: "true || isUrgent(d)",
			in: controller, tests: histories,
		},
		{
			what: "freeze: nothing starts at its end",
			file: "internal/controller/window.go",
			from: "retryAfter(min(until.Sub(now), gateAgain))", to: "errLater",
			in: controller, tests: "^TestNothingIsRolledUntilAFreezeEnds$",
		},
		{
			what: "freeze: what waits does not start when a user ends it",
			file: engine,
			from: "	c.checkGates(\"\")\n", to: "",
			in: controller, tests: "^TestNothingIsRolledUntilAFreezeEnds$",
		},
		{
			what: "freeze: one that comes while Pods are listed does not count",
			file: engine,
			from: "	facts.Defaults = c.state.Defaults(", to: "	_ = c.state.Defaults(",
			in: controller, tests: "^TestAFreezeThatComesWhilePodsAreListed",
		},
		{
			what: "freeze: anybody's ConfigMap freezes all namespaces",
			file: engine,
			from: "c.opts.Freezes != nil && cm.Namespace == c.opts.Freezes.Namespace()", to: "c.opts.Freezes != nil",
			in: controller, tests: "^TestAFreezeOfAnotherNamespace",
		},
		{
			what: "freeze: it stays when its ConfigMap is deleted",
			file: engine,
			from: "if c.watchesFreeze() && gone(", to: "if false && gone(",
			in: controller, tests: "^TestTheFreezeOfADeletedConfigMap",
		},
		{
			what: "freeze: a reload starts although it could not be read whether one is in force",
			file: engine,
			from: "		if err == nil || apierrors", to: "		if true || apierrors",
			in: controller, tests: "^TestAFreezeIsReadWhereNoWatch",
		},
		{
			what: "freeze: each change of a workload that waits is an event",
			file: engine,
			from: "	if c.recordOf(w.Key).awaits.by == answer.By {", to: "	if false {",
			in: controller, tests: "^TestNothingIsRolledUntilAFreezeEnds$",
		},
		{
			what: "freeze: a status does not show it",
			file: "internal/inspect/status.go",
			from: "	s.freezes(p)\n", to: "",
			in: "./internal/inspect", tests: "^TestAStatusBeginsWithWhatIsFrozen$",
		},
	}
}
