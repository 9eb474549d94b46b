package main

// missing are mutations of which sources are reported as missing, and when.
func missing() []mutation {
	const predicate, reports = "internal/reload/missing.go", "internal/controller/missing.go"
	return []mutation{
		{
			what: "returned: a source that is back as it was is no creation",
			file: "internal/reload/presence.go",
			from: "if !noted || !f.OnCreate {", to: "if !noted || noted {",
			in: core, tests: "^TestASourceThatReturnsAsItWas$",
		},
		{
			what: "returned: a source that is back as it was is a creation, whether or not these count",
			file: "internal/reload/presence.go",
			from: "if !noted || !f.OnCreate {", to: "if !noted {",
			in: core, tests: "^TestASourceThatReturnsAsItWas$",
		},
		{
			what: "deleted: Pods that start without a source count as Pods that have it",
			file: "internal/reload/presence.go",
			from: "if !f.OnCreate || !workload.Optional(c.Uses) {", to: "if true {",
			in: core, tests: "^TestASourceThatIsDeletedBeforeALedgerHasIt$",
		},
		{
			what: "deleted: Pods that wait for a source count as Pods without it",
			file: "internal/reload/presence.go",
			from: "if !f.OnCreate || !workload.Optional(c.Uses) {", to: "if !f.OnCreate {",
			in: core, tests: "^TestASourceThatIsDeletedBeforeALedgerHasIt$",
		},
		{
			what: "deleted: Pods may lack a source, although its creation is no change",
			file: "internal/reload/presence.go",
			from: "if !f.OnCreate || !workload.Optional(c.Uses) {", to: "if !workload.Optional(c.Uses) {",
			in: core, tests: "^TestASourceThatIsDeletedBeforeALedgerHasIt$",
		},
		{
			what: "deleted: before the workload selected anything, a deletion is a change",
			file: "internal/reload/presence.go",
			from: "case f.adoptedAfter(key, seen):", to: "case false:",
			in: core, tests: "^TestASourceThatIsDeleted$",
		},
		{
			what: "created: Pods that are Ready, and not available yet, do not count",
			file: "internal/state/workload_seen.go",
			from: "w.Progress.Ready > 0", to: "w.Progress.Available > 0",
			in: known, tests: "^TestWhenPodsWereFirstReady$",
		},
		{
			what: "created: Pods are not asked whether they were Ready before a creation that nobody saw",
			file: "internal/reload/presence.go",
			from: "return pods == nil || pods.readyBefore(", to: "return pods != nil && pods.readyBefore(",
			in: core, tests: "^TestASourceThatIsMadeUnseenSoonAfterItsWorkload$",
		},
		{
			what: "created: Pods that were Ready within the difference of clocks prove a creation",
			file: "internal/reload/started_pod.go",
			from: "p.Ready.Add(source.StartLag).Before(t)", to: "p.Ready.Before(t)",
			in: core, tests: "^TestASourceThatIsMadeUnseenSoonAfterItsWorkload$",
		},
		{
			what: "created: Pods that never were Ready prove a creation",
			file: "internal/reload/started_pod.go",
			from: "!p.Ready.IsZero() && ", to: "",
			in: core, tests: "^TestASourceThatIsMadeUnseenSoonAfterItsWorkload$",
		},
		{
			what: "missing: a deleted source counts as a typo",
			file: predicate,
			from: "m.Deleted, m.Reloads = was, ", to: "m.Deleted, m.Reloads = was && inLedger && false, ",
			in: core, tests: "^TestWhichSourcesAreMissing$",
		},
		{
			what: "missing: an optional source is required",
			file: predicate,
			from: " && !once && !workload.Optional(ref.Uses)", to: " && !once && (true || workload.Optional(ref.Uses))",
			in: core, tests: "^TestWhichSourcesAreMissing$",
		},
		{
			what: "missing: what was missing at the start is reported at each start",
			file: reports,
			from: "return facts.Seen.Compared || n.asksFor(entry)", to: "return true || n.asksFor(entry)",
			in: controller, tests: "^TestWhenAMissingSourceIsReported$",
		},
		{
			what: "missing: a source is reported at once",
			file: reports,
			from: "		case !known && appeared(entry):\n			due = now.Add(stays)", to: "		case !known && appeared(entry):\n			report = append(report, entry)",
			in: controller, tests: "^TestWhenAMissingSourceIsReported$",
		},
		{
			what: "missing: a deleted source counts for Pods that were started without it",
			file: "internal/reload/compare.go",
			from: "c.Seen.Content == c.Seen.Created && f.usedSince(c) > c.Seen.Departed", to: "false && f.usedSince(c) > 0",
			in: core, tests: "^TestASourceThatWasDeletedAndIsCreatedAgain$",
		},
		{
			what: "missing: a source that was created again counts as never edited since",
			file: "internal/reload/compare.go",
			from: "c.Seen.Content == c.Seen.Created && f.usedSince(c)", to: "f.usedSince(c)",
			in: core, tests: "^TestASourceThatWasDeletedAndIsCreatedAgain$",
		},
		{
			what: "missing: of data that is back, Pods of an undone rollout are not asked",
			file: "internal/reload/compare.go",
			from: "if !f.Seen.TemplateReverted {\n\t\t\treturn recorded", to: "if true {\n\t\t\treturn recorded",
			in: core, tests: "^TestASourceThatWasDeletedAndIsCreatedAgain$",
		},
		{
			what: "missing: data that is back counts as written when it came back",
			file: "internal/reload/compare.go",
			from: "c = c.asBeforeItsDeletion()", to: "",
			in: core, tests: "^TestASource(ThatIsMade|ThatWasDeletedAndIsCreatedAgain)$",
		},
		{
			what: "missing: a source without which Pods start is never created, if one digest stands for all",
			file: "internal/reload/compare.go",
			from: "f.recreated(c) && !workload.Optional(c.Uses):", to: "f.recreated(c):",
			in: core, tests: "^TestASourceThatWasDeletedAndIsCreatedAgain$",
		},
		{
			what: "missing: any deleted source hides that an expression matches none",
			file: predicate,
			from: "		if concerned && f.usedUntil(", to: "		if (concerned || true) && f.usedUntil(",
			in: core, tests: "^TestWhatADeletedSourceHides$",
		},
		{
			what: "missing: deleted sources are kept without bound",
			file: "internal/state/deleted_sources.go",
			from: "d.weight > mostGone && ", to: "false && ",
			in: known, tests: "^TestDeletedSourcesAreBounded$",
		},
		{
			what: "missing: each deleted source weighs the same",
			file: "internal/state/deleted_sources.go",
			from: "weight := 1 + len(src.Keys)/16", to: "weight := 1 + 0*len(src.Keys)",
			in: known, tests: "^TestDeletedSourcesAreBounded$",
		},
	}
}
