package main

const (
	classHistories = "^TestClassHistories$"
	// fewClasses draws a fifth as many histories of classes, which take five times as long.
	fewClasses = 300
)

// classes are mutations of what becomes of the statuses that a CSI driver writes.
func classes() []mutation {
	const turns, watched = "internal/source/secretproviderclass.go", "internal/controller/secretproviderclasses.go"
	const reports = "internal/source/secretproviderclass_report.go"
	const sources, evidence = "internal/state/sources.go", "internal/reload/evidence.go"
	return []mutation{
		{
			what: "classes: a gap in the watch of statuses hides since when a class is not ignored",
			file: sources,
			from: "		if r.AnnotatedIn != 0 && r.AnnotatedIn == known.AnnotatedIn {", to: "		if false {",
			in: known, tests: "^TestTheObservedHistoryOfASource$",
		},
		{
			what: "classes: a gap in the watch of a class hides no change of its annotations",
			file: sources,
			from: "		if r.AnnotatedIn != 0 && r.AnnotatedIn == known.AnnotatedIn {", to: "		if r.AnnotatedIn != 0 {",
			in: known, tests: "^TestTheObservedHistoryOfASource$",
		},
		{
			what: "classes: what a pod is given while it runs does not count as rotated",
			file: turns,
			from: `next = all.begin(turn{version: version, turnWrite: r.write(in), rotated: true, gained`, to: "next = all.begin(turn{version: version, turnWrite: r.write(in), gained",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: a class that lost an object has no time",
			file: sources,
			from: "return !now.Key.Kind.Reported() && (", to: "return (",
			in: known, tests: "^TestPodsThatLoseAnObjectReportWhen$",
		},
		{
			what: "classes: a pod that was given something else counts as one that started with it",
			file: turns,
			from: "m.at[id], m.started = next, false", to: "m.at[id] = next",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: what stands there is taken in from the end",
			file: reports,
			from: "written[a.Name].Compare(written[b.Name])", to: "written[b.Name].Compare(written[a.Name])",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: the times of two API servers show an order",
			file: reports,
			from: "		written[r.Name] = latest\n", to: "		written[r.Name] = r.Written\n",
			in: "./internal/source", tests: "^TestReportsAreRestoredInTheOrderOfTheirVersions$",
		},
		{
			what: "classes: a status that was touched has the version of the write of its data",
			file: reports,
			from: "if r.Touched || ", to: "if ",
			in: "./internal/source", tests: "^TestATouchedReportIsRestoredAtItsTime$",
		},
		{
			what: "classes: a status whose write left no trace has the version of the write of its data",
			file: reports,
			from: " || latest.Sub(r.Written) > StartLag", to: "",
			in: "./internal/source", tests: "^TestATouchedReportIsRestoredAtItsTime$",
		},
		{
			what: "classes: labels that were written soon before a rotation were written before it",
			file: watched,
			from: "manager.Time.Add(source.StartLag).Before(written)", to: "manager.Time.Before(&metav1.Time{Time: written})",
			in: controller, tests: "^TestWhetherAStatusWasTouched$",
		},
		{
			what: "classes: the status of an earlier pod of the name is taken for that of the pod",
			file: turns,
			from: "	ok = ok && known.Owner == r.Owner\n", to: "",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: the first that a controller is shown is not told",
			file: watched,
			from: "f.c.putClass(class, class.Restore(reports), false)", to: "class.Restore(reports)",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: the times of two API servers show whether a rotation came back",
			file: "internal/source/secretproviderclass_turns.go",
			from: "		return in > t.report\n", to: "		return r.Written.After(t.written)\n",
			in: "./internal/source", tests: "^TestARotationBackIsRestoredInTheOrderOfTheVersions$",
		},
		{
			what: "classes: a status that was touched shows that a rotation came back",
			file: reports,
			from: "	if r.Touched {\n", to: "	if false {\n",
			in: "./internal/source", tests: "^TestATouchedReportIsNoRotationBack$",
		},
		{
			what: "classes: the version of a status shows that a rotation came back, however much later",
			file: "internal/source/secretproviderclass_turns.go",
			from: " && r.Written.Sub(t.written).Abs() <= StartLag", to: "",
			in: "./internal/source", tests: "^TestARotationBackLongAfterIsRestoredAtItsTime$",
		},
		{
			what: "classes: an object is as new as the first report that was written again",
			file: "internal/source/secretproviderclass_turns.go",
			from: "added = n.known", to: "added = n.written",
			in: "./internal/source", tests: "^TestAnObjectKnownLongBeforeAnotherIsGivenUnobserved$",
		},
		{
			what: "classes: that pods without an object are given it is forgotten after some rotations",
			file: "internal/source/secretproviderclass_turns.go",
			from: "t.opened = t.forgotten + 1", to: "t.opened = 0",
			in: "./internal/source", tests: "^TestWhatAClassComesToBe$",
		},
		{
			what: "classes: a rotation from before the installation is acted upon when a late pod is gone",
			file: "internal/reload/unseen_edit.go",
			from: "return first && c.Source.Key.Kind.Reported()", to: "return false && first",
			in: core, tests: "^TestDecideOnAClass$",
		},
		{
			what: "classes: a pod that starts soon after a report is never given an object of it that it lacks",
			file: turns,
			from: "all.added().Add(StartLag)", to: "all.added()",
			in: "./internal/source", tests: "^TestAnObjectThatMayBeNewAndAPodThatStartsSoonWithoutIt$",
		},
		{
			what: "classes: a pod that starts without an object waits for it, however late",
			file: turns,
			from: "		case m.started && m.began.After(", to: "		case m == nil && m.began.After(",
			in: controller, tests: "^TestKeptHistories$",
		},
		{
			what: "classes: what a pod with the present version is given is taken for the past",
			file: turns,
			from: "		case m.hasPresent(id, all):\n			at = last", to: "		case m == nil:\n			at = last",
			in: "./internal/source", tests: "^TestWhatAClassComesToBe$",
		},
		{
			what: "classes: each pod that gains an object brings it anew",
			file: "internal/source/secretproviderclass_turns.go",
			from: `t.version == "" || t.gained }`, to: `t.version == "" }`,
			in: "./internal/source", tests: "^TestWhatAClassComesToBe$",
		},
		{
			what: "classes: what only new pods have counts at once",
			file: turns,
			from: "all.last() < 0 && others {", to: "all.last() < 0 && others && m == nil {",
			in: "./internal/source", tests: "^TestAnObjectGivenToPodsUnobserved$",
		},
		{
			what: "classes: what stands there is told as it was after the last turn",
			file: turns,
			from: "	all[len(all)-1], _ = c.Source()", to: "	_, _ = c.Source()",
			in: "./internal/source", tests: "^TestTheCurrentDataIsReportedWithAllPods$",
		},
		{
			what: "classes: a pod whose status was made for an earlier one is as old as that",
			file: turns,
			from: "			began = r.Written\n", to: "			began = r.Created\n",
			in: "./internal/source", tests: "^TestWhatAClassComesToBe$",
		},
		{
			what: "classes: what a pod had before the data came back is not told",
			file: watched,
			from: "	for _, src := range turns {\n", to: "	for _, src := range turns[len(turns)-1:] {\n",
			in: controller, tests: "^TestKeptHistories$",
		},
		{
			what: "classes: other data than now was never there",
			file: sources,
			from: "	away := ok && (differs ||", to: "	away := ok && !src.Key.Kind.Reported() && (differs ||",
			in: controller, tests: "^TestKeptHistories$",
		},
		{
			what: "classes: the entry of a class is dropped from the ledger",
			file: "internal/reload/next_ledger.go",
			from: "		next.Entries[c.Source.Key.Local()] = c.Digest()\n", to: "		if !c.Source.Key.Kind.Reported() {\n			next.Entries[c.Source.Key.Local()] = c.Digest()\n		}\n",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: only the age of pods counts, and not what they report",
			file: evidence,
			from: "		case reports:\n", to: "		case reports && p.Count == 0:\n",
			in: controller, tests: classHistories, histories: fewClasses,
		},
		{
			what: "classes: a pod that has mounted nothing yet is out of date, though no rotation was reported",
			file: evidence,
			from: "		case c.onlyStartedWith() && pod.Started.IsZero():\n", to: "		case c == nil:\n",
			in: core, tests: "^TestDecideOnAClass$",
		},
		{
			what: "classes: a running pod that lost its report has the data",
			file: evidence,
			from: "c.onlyStartedWith() && pod.Started.IsZero()", to: "c.onlyStartedWith()",
			in: core, tests: "^TestDecideOnAClass$",
		},
		{
			what: "classes: a pod that does not mount a class has its data until a rotation is reported",
			file: evidence,
			from: " && c.Source.EditedAt == 0 && len(c.Uses) > 0", to: " && c.Source.EditedAt == 0",
			in: core, tests: "^TestDecideOnAClass$",
		},
		{
			what: "classes: a pod without a report has the data of a class that others were given",
			file: evidence,
			from: "c.Source.EditedAt == 0 && len(c.Uses) > 0", to: "len(c.Uses) > 0",
			in: core, tests: "^TestDecideOnAClass$",
		},
		{
			what: "classes: a pod that has data that came and went is never out of date",
			file: evidence,
			from: "		return p.older(c, w) > 0\n", to: "		return false\n",
			in: controller, tests: "^TestKeptHistories$",
		},
		{
			what: "classes: the version in which a class was deleted does not count",
			file: watched,
			from: "state.VersionOf(resourceVersion), true)", to: "state.VersionOf(resourceVersion), false)",
			in: controller, tests: "^TestADeletedClassConcernsWorkloadsFromThatVersionOn$",
		},
		{
			what: "classes: what is written beside a class counts as later than data that arrived before it",
			file: sources,
			from: "cmp.Or(r.AnnotatedIn, version)", to: "cmp.Or(version, r.AnnotatedIn)",
			in: controller, tests: "^TestADeletedClassConcernsWorkloadsFromThatVersionOn$",
		},
		{
			what: "classes: a pod that starts right after a rotation with what was before was late",
			file: turns,
			from: "		return m.beganIn > t.in\n", to: "		return false\n",
			in: "./internal/source", tests: "^TestWhatAClassComesToBe$",
		},
		{
			what: "a ledger that is removed before the first comparison is forgotten",
			file: "internal/state/workloads.go",
			from: "	next.keepRemoved(known)\n", to: "",
			in: known, tests: "^TestARemovedLedgerIsRemembered$",
		},
		{
			what: "a ledger that a rollback restores before the first comparison counts",
			file: "internal/ledger/rank.go",
			from: "return !r.read || current.olderThan(other.ledger())", to: "_ = current\n\treturn !r.read",
			in: known, tests: "^TestARemovedLedgerIsRemembered$",
		},
		{
			what: "what changed after another replica wrote the ledger is forgotten with what it compared",
			file: "internal/state/compared.go",
			from: "		if later, is := s.awayAfter(w, now, away, version); is {\n", to: "		if later, is := s.awayAfter(w, nil, away, version); is && now != nil {\n",
			in: known, tests: "^TestWhenAContentLeft$",
		},
		{
			what: "pods of a reverted template need not be younger than the data by the clocks of two servers",
			file: evidence,
			from: "w.Template > latest && !w.TemplateReverted {", to: "w.Template > latest {",
			in: core, tests: "^TestATemplateThatCameBack$",
		},
	}
}
