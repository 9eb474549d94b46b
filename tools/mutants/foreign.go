package main

// ofOtherNamespaces are mutations of sources that workloads of other namespaces name.
func ofOtherNamespaces() []mutation {
	const consent, core, decided = "^TestASourceOfAnotherNamespaceNeedsConsent$", "./internal/reload", "^TestSourcesOfOtherNamespaces$"
	const hidden = "^TestNoLedgerShowsWhetherAForeignSourceExists$"
	return []mutation{
		{
			what: "other namespaces: a source needs no consent",
			file: "internal/policy/verdict.go",
			from: "(!k.entries.HasName(src.Name) || !ann.AllowFrom.Has(src.Namespace))", to: "!k.entries.HasName(src.Name)",
			in: "./internal/policy", tests: consent,
		},
		{
			what: "other namespaces: consent is enough, without a name",
			file: "internal/policy/verdict.go",
			from: "(!k.entries.HasName(src.Name) || !ann.AllowFrom.Has(src.Namespace))", to: "!ann.AllowFrom.Has(src.Namespace)",
			in: "./internal/policy", tests: consent,
		},
		{
			what: "other namespaces: any consent counts",
			file: "internal/policy/verdict.go",
			from: "ann.AllowFrom.Has(src.Namespace)", to: "ann.AllowFrom.Any()",
			in: "./internal/policy", tests: consent,
		},
		{
			what: "other namespaces: a star does not have to match the whole name",
			file: "internal/annotations/foreign.go",
			from: `return strings.Trim(pattern[p:], "*") == ""`, to: "return true",
			in: "./internal/annotations", tests: "^TestWhichNamespacesASourceAllows$",
		},
		{
			what: "other namespaces: an expression with a dot matches the slash",
			file: "internal/annotations/lists.go",
			from: "(d[i] != '.' || name[i] == '/')", to: "d[i] != '.'",
			in: "./internal/annotations", tests: "^TestNoExpressionReachesIntoAnotherNamespace$",
		},
		{
			what: "other namespaces: no bound",
			file: "internal/annotations/foreign.go",
			from: "	case r.foreigners == maxForeign:", to: "	case false:",
			in: "./internal/annotations", tests: "^TestSourcesOfOtherNamespacesAreBounded$",
		},
		{
			what: "other namespaces: a digest is the same everywhere",
			file: "internal/digest/digest_key.go",
			from: "	e.Begin('f')\n	e.Text(namespace)\n", to: "	e.Begin('f')\n",
			in: "./internal/source", tests: "^TestDigestsOfOtherNamespacesRevealNothing$",
		},
		{
			what: "other namespaces: the ledger has the plain digest",
			file: "internal/reload/foreign.go",
			from: "if c := &f.Concerns[i]; c.Source.Key.IsForeign() {", to: "if c := &f.Concerns[i]; c == nil {",
			in: core, tests: "^TestMarksOfOtherNamespacesRevealNothing$",
		},
		{
			what: "other namespaces: the mark is Reloader's",
			file: "internal/workload/mark_text.go",
			from: "if src.Key.IsForeign() || src.Key", to: "if src.Key",
			in: core, tests: "^TestMarksOfOtherNamespacesRevealNothing$",
		},
		{
			what: "other namespaces: data from before the consent rolls workloads",
			file: "internal/reload/unseen_edit.go",
			from: ", f.allowedIn(c))", to: ")",
			in: core, tests: decided,
		},
		{
			what: "other namespaces: data from before a consent that nobody saw rolls workloads",
			file: "internal/reload/unseen_edit.go",
			from: "if at := time.Unix(int64(c.Source.AllowedAt), 0); at.After(optedIn) {", to: "if at := time.Unix(int64(c.Source.AllowedAt), 0); false {\n			_ = at",
			in: core, tests: decided,
		},
		{
			what: "other namespaces: one digest for all covers them",
			file: "internal/ledger/ledger.go",
			from: "		if key.Kind == kind && !key.IsForeign() {\n			sum", to: "		if key.Kind == kind {\n			sum",
			in: "./internal/ledger", tests: "^TestOneDigestForAllNeverCoversAnotherNamespace$",
		},
		{
			what: "other namespaces: a ledger may have them in the wrong place",
			file: "internal/ledger/text.go",
			from: "	if err := t.validForeign(); err != nil {", to: "	if err := t.validForeign(); false {",
			in: "./internal/ledger", tests: "^TestAForgedPlaceInALedgerIsRefused$",
		},
		{
			what: "other namespaces: a source with that name here is the one there",
			file: "internal/state/sources.go",
			from: "		w, key := s.workloads[concern], now.Key.SeenFrom(concern.Namespace).Local()\n		away", to: "		w, key := s.workloads[concern], now.Key.Local()\n		away",
			in: known, tests: "^TestWhatChangedElsewhereIsRememberedForItsOwnName$",
		},
		{
			what: "other namespaces: many sources of its own hide them",
			file: "internal/state/index.go",
			from: "	l.foreign = foreignOf(w)\n", to: "	if len(w.Policy.ExactNames(source.ConfigMap)) <= mostExact {\n		l.foreign = foreignOf(w)\n	}\n",
			in: known, tests: "^TestASourceOfAnotherNamespaceFindsItsWorkloads$",
		},
		{
			what: "other namespaces: waves reach into them",
			file: "internal/state/waves.go",
			from: "	if src.Key.SeenFrom(key.Namespace) != src.Key {", to: "	if false {",
			in: known, tests: "^TestWavesStayInTheirNamespace$",
		},
		{
			what: "other namespaces: a forged ledger shows what exists there",
			file: "internal/reload/compare.go",
			from: "	l.DropUnsigned(f.Key)\n", to: "",
			in: core, tests: hidden,
		},
		{
			what: "other namespaces: what is dropped of a ledger is dropped for all of its readers",
			file: "internal/ledger/foreign.go",
			from: "	l.Entries, l.Gone = maps.Clone(l.Entries), maps.Clone(l.Gone) // others may read the same ledger\n", to: "",
			in: "./internal/ledger", tests: "^TestLedgersOfAMemoAreNotChanged$",
		},
		{
			what: "ledgers: what was read long ago stays in memory",
			file: "internal/ledger/memo.go",
			from: " || m.length+len(p.text) > memoLength", to: "",
			in: "./internal/ledger", tests: "^TestAMemoForgets$",
		},
		{
			what: "other namespaces: the signature of another workload counts",
			file: "internal/ledger/foreign.go",
			from: "	return append(texts, string(l.UID))", to: "	return texts",
			in: core, tests: hidden,
		},
		{
			what: "other namespaces: a reload that waits signs no names",
			file: "internal/reload/deferred.go",
			from: "	next.SignForeign(f.Key)\n", to: "",
			in: core, tests: decided,
		},
		{
			what: "other namespaces: a source deleted while away does not count as deleted",
			file: "internal/reload/presence.go",
			from: ", AllowFrom: annotations.AllowAny()}", to: ", AllowFrom: annotations.AllowFrom{}}",
			in: core, tests: decided,
		},
		{
			what: "other namespaces: a source that is not read counts as deleted",
			file: "internal/reload/foreign.go",
			from: "			f.Unselected = append(f.Unselected, local)", to: "			_ = local",
			in: core, tests: decided,
		},
		{
			what: "other namespaces: a source that the user may not list counts as deleted",
			file: "internal/inspect/foreign.go",
			from: " || o.outside(origin.Namespace) && !o.foreign[origin]", to: "",
			in: "./internal/inspect", tests: "^TestASourceOfAnotherNamespaceThatTheUserMayNotListIsNotDeleted$",
		},
		{
			what: "other namespaces: the owner of a source that comes later hears nothing",
			file: "internal/controller/foreign.go",
			from: "	next, report, wait := before.then(asks, now, c.opts.Longest(w), appeared)",
			to:   "	next, report, wait := before.then(asks, now, c.opts.Longest(w), func(policy.NamedSource) bool { return before == nil && len(asks) < 0 })",
			in:   controller, tests: "^TestBothSidesHearOnceThatConsentIsMissing$",
		},
		{
			what: "other namespaces: an event beyond the bound is never made up for",
			file: "internal/controller/foreign.go",
			from: "			next.due[entry] = again\n", to: "			next.due[entry] = time.Time{}\n",
			in: controller, tests: "^TestTheOwnersOfManySourcesHearOnLaterDays$",
		},
		{
			what: "other namespaces: one namespace takes all events of another one",
			file: "internal/controller/foreign.go",
			from: "ofOne >= mostAsksOfOne, ", to: "",
			in: controller, tests: "^TestANamespaceHearsOfFewWhoNameItsSources$",
		},
		{
			what: "other namespaces: the labels of a namespace show to everybody",
			file: "internal/controller/foreign.go",
			from: "consents && c.leftOut(key.Origin()):", to: "(consents || true) && c.leftOut(key.Origin()):",
			in: controller, tests: "^TestTheLabelsOfANamespaceShowToNobodyElse$",
		},
		{
			what: "other namespaces: a list with a key of theirs does not say that all count",
			file: "internal/annotations/key_list.go",
			from: "foreign && (kind", to: "false && foreign && (kind",
			in: "./internal/annotations", tests: "^TestListsOfKeys$",
		},
		{
			what: "other namespaces: a source that does not exist is told apart",
			file: "internal/reload/missing.go",
			from: "!refers && !n.Expression && !key.IsForeign() {", to: "!refers && !n.Expression {",
			in: core, tests: "^TestWhatAWorkloadNamesInVain$",
		},
		{
			what: "other namespaces: the name of a source that is gone is in the ledger twice",
			file: "internal/ledger/text.go",
			from: "|| !known || key.IsForeign() {", to: "|| !known {",
			in: "./internal/ledger", tests: "^TestASourceOfAnotherNamespaceThatIsGoneHasOnePlace$",
		},
		{
			what: "other namespaces: long names of certificates make a ledger too long",
			file: "internal/reload/certificates.go",
			from: "i >= ledger.MaxCertificates || length > ledger.MaxCertificateNames {", to: "i >= ledger.MaxCertificates {",
			in: "./internal/reload", tests: "^TestOfCertificatesWithLongNamesFewerAreNoted$",
		},
		{
			what: "other namespaces: a source that is one too many seems to be one that the user may not list",
			file: "internal/inspect/foreign.go",
			from: "		s.Unasked = s.Unread && !asked", to: "		s.Unasked = s.Unread && asked",
			in: "./internal/inspect", tests: "^TestASourceThatIsOneTooManyIsNotOneThatTheUserMayNotList$",
		},
	}
}
