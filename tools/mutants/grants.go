package main

// grants are mutations of what ReferenceGrants of the Gateway API allow.
func grants() []mutation {
	const one, set, kept, merged = "internal/grant/grant.go", "internal/grant/set.go", "internal/state/grants.go", "internal/reload/foreign.go"
	const consent = "internal/state/grants_consent.go"
	const pure, table = "./internal/grant", "^TestWhatAReferenceGrantAllows$"
	const watch, inState = "internal/controller/grants.go", "Grant|Consent|TwoWatches"
	return []mutation{
		{
			what: "grants: from whom they are does not matter",
			file: one,
			from: "g == nil || !slices.Contains(g.from, from)", to: "g == nil",
			in: pure, tests: table,
		},
		{
			what: "grants: each name is allowed",
			file: one,
			from: `(to.Name == "" || to.Name == src.Name)`, to: "true",
			in: pure, tests: table,
		},
		{
			what: "grants: the kind of the source does not matter",
			file: one,
			from: "return to.Kind == src.Kind && ", to: "return ",
			in: pure, tests: table,
		},
		{
			what: "grants: a source of another group is a ConfigMap",
			file: one,
			from: `!ok || group != ""`, to: "!ok || len(group) < 0",
			in: pure, tests: table,
		},
		{
			what: "grants: an invalid name stands for all",
			file: one,
			from: `(!named || valid && text != "")`, to: "(!named || valid || name == nil)",
			in: pure, tests: table,
		},
		{
			what: "grants: no bound for entries",
			file: one,
			from: "items[:min(len(items), mostEntries)]", to: "items",
			in: pure, tests: table,
		},
		{
			what: "grants: no bound for a namespace",
			file: set,
			from: "if len(next.names) > Most {", to: "if len(next.names) > 100*Most {",
			in: pure, tests: "^TestTheFirstGrantsByNameCount$",
		},
		{
			what: "grants: the latest time counts as that of the consent",
			file: set,
			from: "	return min(a, b)\n", to: "	return max(a, b)\n",
			in: pure, tests: "^TestSinceWhenASetAllows$",
		},
		{
			what: "grants: the annotation that was withdrawn meanwhile is forgotten",
			file: merged,
			from: "		return granted || is.Has(namespace)\n", to: "		return granted || is == (annotations.AllowFrom{}) && namespace == \"\"\n",
			in: known, tests: inState,
		},
		{
			what: "grants: what was granted before is forgotten",
			file: merged,
			from: "		return granted || is.Has(namespace)\n", to: "		return granted && namespace == \"\" || is.Has(namespace)\n",
			in: known, tests: inState,
		},
		{
			what: "grants: sources that need one are decided before they are known",
			file: "internal/state/state.go",
			from: "verdict.Rule == policy.RuleNoConsent && it.undecided {", to: "false {",
			in: known, tests: inState,
		},
		{
			what: "grants: a source that does not exist is decided before they are known",
			file: consent,
			from: "			f.Unselected = append(f.Unselected, local)\n", to: "",
			in: known, tests: inState,
		},
		{
			what: "grants: each one queues all who name sources of its namespace",
			file: kept,
			from: "slices.ContainsFunc(c.grants, func(g *grant.Grant) bool { return g.Allows(n.from, origin.Local()) })", to: "n.from.Kind != \"\"",
			in: known, tests: inState,
		},
		{
			what: "grants: a removed one that no snapshot has stays",
			file: kept,
			from: "				next, _ = next.With(name, nil)\n", to: "",
			in: known, tests: inState,
		},
		{
			what: "grants: their history has no bound",
			file: kept,
			from: "steps[max(0, len(steps)-maxGrantSteps):]", to: "steps",
			in: known, tests: inState,
		},
		{
			what: "grants: one in a snapshot began in the version of the snapshot",
			file: kept,
			from: "		version = at + 1\n", to: "",
			in: known, tests: inState,
		},
		{
			what: "grants: one that is served late is older than the data",
			file: kept,
			from: "max(s.grantsAt[watched], s.newest)", to: "s.grantsAt[watched]",
			in: known, tests: inState,
		},
		{
			what: "grants: one that is younger than the data is not",
			file: consent,
			from: "g.createdAfter(src, from) {", to: "false {",
			in: known, tests: inState,
		},
		{
			what: "grants: of a deleted source, the consent of now counts",
			file: consent,
			from: "g.at(gone.Version).Any", to: "g.all().Any",
			in: known, tests: inState,
		},
		{
			what: "grants: those who wait for the first snapshot are forgotten",
			file: kept,
			from: "	if _, known := s.grantsAt[watched]; !known {\n		first", to: "	if _, known := s.grantsAt[watched]; !known && watched != \"\" {\n		first",
			in: controller, tests: "^TestNothingIsSaidOfConsentBeforeGrantsAreKnown$",
		},
		{
			what: "grants: they count although nobody asks for it",
			file: watch,
			from: "	if !c.opts.ReferenceGrants {\n		return nil\n	}\n", to: "",
			in: controller, tests: "^TestGrantsAreWatchedWherePresent$",
		},
		{
			what: "grants: one that comes later is as old as the first answer",
			file: "internal/controller/served_kinds.go",
			from: "	if p.is == absent && p.ended && p.still != nil {", to: "	if p.is == absent && p.ended && p.still != nil && p.since == p.clock.Now() {",
			in: controller, tests: "^TestGrantsAreWatchedWherePresent$",
		},
		{
			what: "grants: their bound is logged each time",
			file: watch,
			from: "tooMany && !crowded[name.Namespace] {", to: "tooMany {",
			in: controller, tests: "^TestTheBoundOfGrantsIsLoggedOnce$",
		},
		{
			what: "grants: a user who may not list them sees a decision",
			file: "internal/inspect/grants.go",
			from: "		s.Unread, s.Ungranted = true, true\n", to: "		s.Ungranted = true\n",
			in: "./internal/inspect", tests: "^TestCommandsReadReferenceGrants$",
		},
		{
			what: "grants: an older version of their API is not tried",
			file: "internal/kubeapi/referencegrants.go",
			from: `Older: []string{"v1beta1"}, `, to: "",
			in: "./internal/inspect", tests: "^TestCommandsReadReferenceGrants$",
		},
		{
			what: "grants: one that is being deleted still allows",
			file: "internal/kubeapi/referencegrants.go",
			from: "o.GetDeletionTimestamp() != nil", to: "o.Object == nil",
			in: "./internal/kubeapi", tests: "^TestAReferenceGrantThatIsBeingDeletedAllowsNothing$",
		},
		{
			what: "grants: after an older snapshot, what is new counts as older",
			file: kept,
			from: "max(s.grantsAt[watched], version())", to: "version()",
			in: "./internal/state", tests: inState + "|Snapshot",
		},
		{
			what: "grants: before they are read, a page says that none allows",
			file: "internal/inspect/followed.go",
			from: "		o.live.state.ReadGrants()\n", to: "",
			in: "./internal/inspect", tests: "^TestAFollowedClusterReplacesGrants$",
		},
		{
			what: "grants: commands do not count them",
			file: "internal/inspect/answer.go",
			from: "		st.SetGrants(o.grants.sets, o.grants.known)\n", to: "",
			in: controller, tests: "^TestTheControllerAndItsExplanationsAgreeAboutOtherNamespaces$",
		},
	}
}
