package main

// pages are mutations of what the pages promise: the answers of the commands, only what a reader may
// read, and no write.
func pages() []mutation {
	const dir, inspect = "./internal/web", "./internal/inspect"
	const sight, filter, workloads, history = "internal/web/sight.go", "internal/web/filter.go", "internal/web/workload_page.go", "internal/inspect/history.go"
	of := func(what, file, from, to, in, tests string) mutation {
		return mutation{what: "pages: " + what, file: file, from: from, to: to, in: in, tests: "^" + tests + "$"}
	}
	return []mutation{
		of("a workload of any namespace is shown", sight, "namespace != \"\" && s.ask(scope{namespace, resource})", "namespace != \"\"", dir, "TestAReaderOfOneNamespaceSeesThatOne"),
		of("an explanation may name any source", sight, "		if !s.source(sum.Key.Namespace, use.Key.Kind) && strings.Contains(text, use.Key.Name) {\n			return false\n", "		if !s.source(sum.Key.Namespace, use.Key.Kind) && strings.Contains(text, use.Key.Name) {\n			return true\n", dir, "TestNamesThatAReaderMayNotReadAreCounted"),
		of("a search finds sources that may not be read", filter, "contains(use.Key.Name, f.lower) && s.source(sum.Key.Namespace, use.Key.Kind)", "contains(use.Key.Name, f.lower)", dir, "TestNoAnswerTellsWhetherAnObjectExists"),
		of("a page of a source needs no permission", "internal/web/source_page.go", " || !r.sight.source(key.Namespace, key.Kind)", "", dir, "TestNoAnswerTellsWhetherAnObjectExists"),
		of("sources that may not be read are listed", workloads, "			p.HiddenSources++\n			continue\n", "			p.HiddenSources++\n", dir, "TestNamesThatAReaderMayNotReadAreCounted"),
		of("events show digests", history, "digests.ReplaceAllString(report.OneLine(text), \"\")", "report.OneLine(text)", dir, "TestNoPageShowsDataOrDigestsOfSecrets"),
		of("the command of an approval shows a digest", "internal/inspect/summary.go", "a.Gate.Request.Brief(a.Workload.Key)", "a.Gate.Request.Command(a.Workload.Key)", dir, "TestNoPageShowsDataOrDigestsOfSecrets"),
		of("a stranger sees pages", "internal/web/page.go", "		if err != nil {\n			s.show(w, nil, http.StatusUnauthorized", "		if err != nil && reader != nil {\n			s.show(w, nil, http.StatusUnauthorized", dir, "TestAStrangerGetsNothing"),
		of("a stream goes on after the session", "internal/web/live.go", "			return // the session has ended\n", "", dir, "TestAStreamEndsWithTheSession"),
		of("updates have no pace", "internal/web/live.go", "s.Clock.NewTimer(pace)", "s.Clock.NewTimer(1)", dir, "TestABrowserIsToldOfEachChangeAtMostOnceASecond"),
		of("the command can write", "internal/inspect/read_only.go", "req.Method != http.MethodGet && req.Method != http.MethodHead", "req.Method == \"\"", inspect, "TestAReadOnlyClientSendsNoWrite"),
		of("a followed source keeps its history", "internal/state/sources.go", "	if s.noHistory {\n", "	if s.noHistory && src.Key.Name == \"\" {\n", inspect, "TestAProcessThatFollowsTheClusterAnswersAsOneThatHasJustReadIt"),
		of("a followed workload keeps its history", "internal/state/workloads.go", "	if s.noHistory {\n", "	if s.noHistory && w.Key.Name == \"\" {\n", inspect, "TestAProcessThatFollowsTheClusterAnswersAsOneThatHasJustReadIt"),
		of("a change of a source changes no answer", "internal/state/changed_workloads.go", "	for w := range s.index.bySource[key] {\n		s.changed[w] = struct{}{}\n	}\n	for", "	for", inspect, "TestOnlyWhatChangedIsComputedAgain"),
		of("a reload of the future is the latest", "internal/inspect/latest_reload.go", "case s.Began.After(now.Add(clocksDiffer)):", "case now.IsZero():", inspect, "TestLedgersDateReloads"),
		of("Pods that were listed before a change prove a state", "internal/inspect/proofs.go", "known.version != w.ResourceVersion", "known.version == w.ResourceVersion+\"-\"", inspect, "TestSummariesOfAControllerAreProvenByPods"),
		of("a page asks one question after the other", sight, "		asking.Go(func() {\n			defer func() { <-slots }()\n			may := s.reader.MayRead(s.ctx, of.namespace, of.resource)\n", "		may := s.reader.MayRead(s.ctx, of.namespace, of.resource)\n		asking.Go(func() {\n			defer func() { <-slots }()\n", dir, "TestAPageAsksAboutItsNamespacesTogether"),
		of("a page with an age differs each second", "internal/inspect/page_texts.go", "s.Pages && !t.IsZero()", "s.Pages && t.IsZero()", dir, "TestAPageWithAgesStaysTheSame"),
		of("a source of another namespace needs no permission there", workloads, "!r.sight.source(from.Namespace, from.Kind)", "!r.sight.source(p.Key.Namespace, from.Kind)", dir, "TestAWorkloadShowsSourcesOfOtherNamespacesByThePermissionThere"),
		of("without an address, pages are prepared", "internal/cli/run_ui.go", "	if p.cfg.UIAddress == \"\" {", "	if p.cfg == nil {", "./internal/cli", "TestWithoutAnAddressThereIsNoUI"),
		of("without an address, the state records changes", "internal/state/state.go", "		workloads:      map[workload.Key]*workloadRecord{},\n", "		workloads:      map[workload.Key]*workloadRecord{},\n		changed:        keys{},\n", known, "TestChangesAreRecordedOnlyIfSomebodyAsks"),
		of("a text with a time is markup", "internal/web/text.go", "	template.HTMLEscape(&b, []byte(text))\n	return", "	b.WriteString(text)\n	return", dir, "TestHostileNamesAreText|TestTimesInTextsAreElements"),
		of("a search finds sources that may not be read", "internal/web/found_sources.go", "return !r.sight.source(key.Namespace, key.Kind)", "return false", dir, "TestASearchFindsSourcesThatNoWorkloadUses|TestNoAnswerTellsWhetherAnObjectExists"),
		of("a stream without a body never ends", "internal/web/live.go", "r.Method == http.MethodHead", "r.Method == \"\"", dir, "TestARequestForTheHeadOfAStreamEnds"),
		of("elements of different names are the same", "internal/web/now.go", "strings.Join(escaped, \"/\")", "strings.Join(escaped, \"-\")", dir, "TestElementsOfDifferentNamesDiffer"),
		of("commands in sentences are for another cluster", "internal/inspect/view.go", "context: name, clock: clk", "clock: clk", dir, "TestCommandsInSentencesNameTheContext"),
		of("a page misses what has changed since it was made", "internal/web/page.go", "live: s.version()", "live: \"\"", dir, "TestAPageHasTheVersionOfItsContent"),
		of("all answers are computed again", "internal/inspect/summary.go", "return s.State == UpToDate || s.State == NotOptedIn }", "return s.State == NotOptedIn }", inspect, "TestOnlyWhatChangedIsComputedAgain"),
		of("waves name a source that may not be read", "internal/web/gates_page.go", "Settings: withheld}", "Settings: is.Settings}", dir, "TestWavesNameNoSourceThatMayNotBeRead"),
		of("a reason of waves names a source that may not be read", "internal/web/gates_page.go", "mayAll := readable && ", "mayAll := ", dir, "TestWavesNameNoSourceThatMayNotBeRead"),
		of("a plan tells the reason of a halt", "internal/web/source_page.go", "tellsHalt(f, row.Gate) && ", "row.Gate == \"\" && ", dir, "TestTheReasonOfAHaltIsForReadersOfAllWorkloads"),
		of("numbers stand before what needs somebody", "internal/web/now.go", "		p.first(shown)\n", "", dir, "TestWhatNeedsSomebodyIsFirst"),
		of("a workload is listed twice", "internal/web/now.go", "p.Rows[:urgent], p.Rows[urgent:]", "p.Rows[:urgent], p.Rows", dir, "TestNoWorkloadIsListedTwice"),
		of("a source hides its workloads of other namespaces", "internal/inspect/plan_other_namespaces.go", "at.Namespace != key.Namespace", "at.Namespace == key.Namespace", dir, "TestASourceShowsItsWorkloadsInAllNamespaces"),
		of("a Role of a namespace shows bundles", sight, "	if kind.ClusterScoped() {\n		namespace = \"\"\n	}\n", "", dir, "TestABundleIsForReadersOfBundles"),
		of("everybody sees the settings", "internal/web/controller_page.go", "!r.sight.may(settings.Controller, \"configmaps\")", "settings.Controller == \"-\"", dir, "TestTheSettingsAreForReadersOfTheNamespaceOfTheController"),
		of("everybody sees the leader", "internal/web/controller_page.go", "settings.Holder != \"\" && !r.sight.may(settings.Controller, \"pods\")", "settings.Holder == \"-\"", dir, "TestTheSettingsAreForReadersOfTheNamespaceOfTheController"),
		of("an earlier event names a source that may not be read", sight, " && !strings.Contains(text, kind.String())", "", dir, "TestTheHistoryIsForReadersOfWhatTheControllerReads"),
		of("the week is in the zone of the process", "internal/web/week.go", "	return zone\n}\n\n// weekOf", "	_ = zone\n	return other\n}\n\n// weekOf", dir, "TestTheWeekIsInTheZoneThatTheBrowserNames"),
		of("a source of another namespace needs permission for that of the address", "internal/web/source_page.go", "local.In(r.query.Get(\"ns\")).Origin()", "local.In(r.query.Get(\"ns\"))", dir, "TestASourceOfAnotherNamespaceNeedsPermissionThere"),
	}
}
