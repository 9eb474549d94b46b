package main

// byLabels are mutations of how workloads select sources by their labels.
func byLabels() []mutation {
	const rules, history, core = "internal/reload/labels.go", "^TestASourceThat(Gets|Loses)TheLabels$", "./internal/reload"
	const unselected = "^TestASourceThatIsNotSelectedWhenAnotherAnnotationSelects$"
	const otherDefault = "^TestASourceThatIsNotSelectedAnyMoreWhenAnotherDefaultOptsIn$"
	return []mutation{
		{
			what: "labels: a source that is created again is as old as its labels",
			file: rules,
			from: "case version > c.Seen.Created:", to: "case version != 0:",
			in: core, tests: "^TestASourceThatGetsTheLabels$",
		},
		{
			what: "labels: a source always had the labels that it has now",
			file: "internal/reload/unseen_edit.go",
			from: "then.Labels = c.Seen.Relabeled.at(step.Version, then.Labels)", to: "then.Labels = c.Seen.Relabeled.at(1<<63, then.Labels)",
			in: core, tests: "^TestASourceIsCoveredSinceWithTheLabelsOfThen$",
		},
		{
			what: "labels: the oldest change that is kept was the first",
			file: "internal/reload/seen_changes.go",
			from: "if len(steps) == maxChanges && steps[0].version > version {", to: "if false {",
			in: core, tests: "^TestASourceIsCoveredSinceWithTheLabelsOfThen$",
		},
		{
			what: "labels: the ledger of a reload that waits shows an earlier selection",
			file: "internal/reload/deferred.go",
			from: "} else if next.Selecting != f.selecting() || next.OnDelete != f.OnDelete {", to: "} else if false {",
			in: core, tests: "^TestAnAnnotationThatIsRemovedWhileItsReloadWaits$",
		},
		{
			what: "labels: the first ledger of a reload that waits does not show the selection",
			file: "internal/reload/deferred.go",
			from: "f.Workload.UID, f.Instance, f.OnDelete, f.selecting()\n", to: "f.Workload.UID, f.Instance, f.OnDelete, next.Selecting\n",
			in: core, tests: "^TestADeletionIsNotLostWhileTheFirstReloadWaits$",
		},
		{
			what: "labels: a source that begins to count was created for who selects it since",
			file: "internal/reload/labels.go",
			from: "case c.Seen.Relabeled != nil && f.coveredIn(c) > f.Seen.ComparedAt:", to: "case false:",
			in: core, tests: "^TestASourceThatGetsTheLabels$",
		},
		{
			what: "labels: what no watch has shown of labels may be later than data that it has shown",
			file: "internal/reload/presence.go",
			from: "made.Seen.Bound, made.Seen.Timeless = c.Seen.Created, c.Seen.latest(), false", to: "made.Seen.Timeless = c.Seen.Created, false",
			in: core, tests: "^TestASourceThatIsNoNewerThanItsData$",
		},
		{
			what: "labels: a ledger of a reload that waits does not show that deletions count no longer",
			file: "internal/reload/deferred.go",
			from: "next.Selecting != f.selecting() || next.OnDelete != f.OnDelete {", to: "next.Selecting != f.selecting() {",
			in: core, tests: "^TestALedgerOfAReloadThatWaitsIsWrittenAgainForAnotherSelection$",
		},
		{
			what: "labels: a deletion for another selection is decided again while a reload waits",
			file: "internal/reload/deferred.go",
			from: "f.OnDelete, f.absent(*next)\n", to: "f.OnDelete, next.Gone\n",
			in: core, tests: "^TestALedgerOfAReloadThatWaitsShowsWhatSelectsItsSources$",
		},
		{
			what: "labels: labels show when data of an unknown version was written",
			file: "internal/reload/compare.go",
			from: "made.Seen.Created >= c.Seen.latest()", to: "made.Seen.Created >= c.Seen.Content",
			in: core, tests: "^TestASourceThatGetsTheLabels$",
		},
		{
			what: "labels: that a source gets labels is no reason for a reload that waits",
			file: "internal/reload/compare.go",
			from: "made := f.arrival(c, base)", to: "made := c",
			in: core, tests: "^TestASourceThatGetsTheLabels$",
		},
		{
			what: "labels: a reload that waits ends if its source does not count for a while",
			file: "internal/reload/labels.go",
			from: "left.Uncounted && !entry.IsZero():", to: "left.Uncounted && (!entry.IsZero() || true):",
			in: core, tests: "^TestASourceThatLosesTheLabels$",
		},
		{
			what: "labels: a source that was ignored before loses labels",
			file: "internal/reload/labels.go",
			from: "lost != 0 && lost <= seen.Annotations", to: "false",
			in: core, tests: "^TestSinceWhenASourceHasLostTheLabels$",
		},
		{
			what: "labels: a source that is selected does not concern the workload",
			file: "internal/policy/verdict.go",
			from: "	case ann.Labels.MatchedBy(selector):", to: "	case ann.Labels.MatchedBy(selector) && refers:",
			in: "./internal/policy", tests: "^TestASelectorSelectsSourcesThatNothingReferences$",
		},
		{
			what: "labels: what another selector selected hides that this one selects nothing",
			file: "internal/reload/missing.go",
			from: "(!inLedger || f.selectedByLabels(key, &known.ledger))", to: "(!inLedger || f.selectedByLabels(key, &known.ledger) || len(key.Name) > 0)",
			in: core, tests: "^TestASelectorThatSelectsNothing$",
		},
		{
			what: "labels: a source of another namespace hides that a selector selects nothing",
			file: "internal/reload/missing.go",
			from: "!c.Source.Key.IsForeign() && ", to: "",
			in: core, tests: "^TestASelectorThatSelectsNothing$",
		},
		{
			what: "labels: a selector matches labels that are unknown",
			file: "internal/source/labels.go",
			from: "	case s == nil || l == Labels{}:\n		return false", to: "	case s == nil:\n		return false\n	case l == Labels{}:\n		return true",
			in: "./internal/source", tests: "^TestLabelsMatchAsKubernetesMatchesThem$",
		},
		{
			what: "labels: the end of a key matches",
			file: "internal/source/labels.go",
			from: "strings.CutPrefix(line, key)", to: "line[max(0, strings.Index(line, key)+len(key)):], strings.Contains(line, key)",
			in: "./internal/source", tests: "^TestLabelsMatchAsKubernetesMatchesThem$",
		},
		{
			what: "labels: another label reaches no workload",
			file: "internal/state/sources.go",
			from: "		return s.selecting(&known, &src), 0\n", to: "		return nil, 0\n",
			in: known, tests: "^TestASourceReachesWorkloadsThatSelectItByItsLabels$",
		},
		{
			what: "labels: another label reaches workloads that select none",
			file: "internal/state/sources.go",
			from: "		if s.workloads[key].Policy.SelectorFor(src.Key.Kind) != nil {", to: "		if true {",
			in: known, tests: "^TestALabelReachesNobodyWhereNoWorkloadSelectsByLabels$",
		},
		{
			what: "labels: data from before the label rolls workloads",
			file: "internal/reload/unseen_edit.go",
			from: "c.Seen.Annotations, f.labeledIn(c), f.allowedIn(c))", to: "c.Seen.Annotations, f.allowedIn(c))",
			in: core, tests: history,
		},
		{
			what: "labels: any other label counts as the one that selects",
			file: rules,
			from: "		return !f.Workload.Verdict(c.Source.Key, annotations, f.AutoReloadAll).Concerned\n", to: "		return true\n",
			in: core, tests: history,
		},
		{
			what: "labels: another selector counts like other labels",
			file: rules,
			from: "!f.selectedByLabels(left.Key, &base.ledger), ", to: "",
			in: core, tests: history,
		},
		{
			what: "labels: one that is lost while another client rolls the workload rolls it again",
			file: rules,
			from: "f.Seen.Template > left.Version && !f.Seen.TemplateReverted:", to: "false:",
			in: core, tests: history,
		},
		{
			what: "labels: one that is got while no controller runs counts for nobody",
			file: rules,
			from: "	case c.Seen.Created == 0 && base.err == nil:", to: "	case false:",
			in: core, tests: history,
		},
		{
			what: "labels: an entry in the ledger shows that labels selected a source, whatever selects sources now",
			file: "internal/reload/presence.go",
			from: "	if f.selectedByLabels(key, &base.ledger) {\n		had.Labels", to: "	if true {\n		had.Labels",
			in: core, tests: "^TestADeletedSourceThatOnlyLabelsSelected$",
		},
		{
			what: "labels: a deletion that the watch has shown is forgotten if nothing names the source any more",
			file: "internal/reload/presence.go",
			from: " && !f.sawLeave(key) {", to: " {",
			in: core, tests: "^TestADeletedSourceThatAListNamesNoLonger$",
		},
		{
			what: "labels: the entry of a deleted source that was only selected is dropped",
			file: rules,
			from: "(f.selectedByLabels(key, known) || f.sawSelected(key))", to: "f.sawSelected(key)",
			in: core, tests: "^TestADeletedSourceThatOnlyLabelsSelected$",
		},
		{
			what: "labels: the entry of a deleted source that was selected is dropped with the annotations of before",
			file: rules,
			from: "(f.selectedByLabels(key, known) || f.sawSelected(key))", to: "f.selectedByLabels(key, known)",
			in: core, tests: "^TestADeletedSourceThatOnlyLabelsSelected$",
		},
		{
			what: "labels: the entry of a source that lost its labels before its deletion stays",
			file: rules,
			from: "	return f.sawLeave(key) && f.Workload.Verdict(", to: "	return f.sawLeave(key) || f.Workload.Verdict(",
			in: core, tests: "^TestADeletedSourceThatOnlyLabelsSelected$",
		},
		{
			what: "labels: a source that loses its labels before --auto-reload-all changes is forgotten",
			file: rules,
			from: "if known.Selecting != d.selecting[all] {", to: "if known.Selecting != d.selecting[all] || true {",
			in: core, tests: otherDefault,
		},
		{
			what: "labels: a source leaves its selector if --auto-reload-all selected it",
			file: rules,
			from: "return !withoutLabels.Concerned", to: "return !withoutLabels.Concerned || true",
			in: core, tests: otherDefault,
		},
		{
			what: "labels: a source that loses its labels before its namespace opts in is forgotten",
			file: rules,
			from: "w.Policy = w.Policy.WithoutDefault()", to: "_ = w.Policy.WithoutDefault()",
			in: core, tests: otherDefault,
		},
		{
			what: "labels: a source that is deleted before --auto-reload-all changes had no labels",
			file: "internal/reload/presence.go",
			from: "	if f.selectedByLabels(key, &base.ledger) {", to: "	if base.ledger.Selecting == f.selecting() {",
			in: core, tests: otherDefault,
		},
		{
			what: "labels: a workload rolls for a source that leaves its selector without --reload-on-delete",
			file: "internal/reload/presence.go",
			from: "	if !f.OnDelete {\n		return\n	}\n	f.findLeft(base, t)\n", to: "	f.findLeft(base, t)\n	if !f.OnDelete {\n		return\n	}\n",
			in: core, tests: history,
		},
		{
			what: "labels: a default of the namespace in place of --auto-reload-all selects other sources",
			file: "internal/policy/sources.go",
			from: "strconv.FormatBool(optedIn))", to: "strconv.FormatBool(optedIn)+kind.optedIn(p.ruleByDefault(autoReloadAll)).String())",
			in: "./internal/policy", tests: "^TestTextsOfAPolicyShowWhatElseDecides$",
		},
		{
			what: "labels: the entry of a source that is not selected stays, whatever selects sources now",
			file: "internal/reload/next_ledger.go",
			from: "	f.dropUnlabeled(&next, &known)\n", to: "",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected stays beside one of a source that is deleted",
			file: "internal/reload/presence.go",
			from: "		f.dropUnlabeled(&known, &base.ledger)\n", to: "",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected stays if it is ignored",
			file: rules,
			from: "selected.Unselected, selected.Ignore = false, false", to: "selected.Unselected = false",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected stays while a reload waits",
			file: "internal/reload/deferred.go",
			from: "	f.dropUnlabeled(next, next)\n", to: "",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected is dropped, even if it would concern the workload",
			file: rules,
			from: "selected, refers) && !w.Verdict(src.Key, selected, f.AutoReloadAll).Concerned {", to: "selected, refers) {",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected is dropped, even if it would not be compared",
			file: rules,
			from: "	if w.Policy.SelectedBefore(src.Key, selected, refers) && !", to: "	if (refers || true) && !",
			in: core, tests: unselected,
		},
		{
			what: "labels: the entry of a source that is not selected is dropped, even if labels selected it",
			file: rules,
			from: "has && !f.selectedByLabels(key, known) {", to: "has {",
			in: core, tests: unselected,
		},
	}
}
