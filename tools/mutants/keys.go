package main

// keyHistories are the histories that draw which keys count.
const keyHistories = "^TestHistoriesOfKeys$"

// keys are mutations of which keys of a source count.
func keys() []mutation {
	const (
		history, core, rule, uses = "internal/state/key_history.go", "internal/reload/keys.go", "internal/policy/keys.go", "internal/workload/used_keys.go"
		changes                   = "internal/state/key_changes.go"
		unused, chosen, templates = "^TestAKeyThatDoesNotCountIsNoReconciliation$", "^TestChoosingOtherKeysRollsNothing$", "^FuzzReferences$"
		selected, counted         = "^TestAllKeysOfASelectedSourceCount$", "^TestWhichKeysCount$"
	)
	return []mutation{
		{
			what: "keys: a comparison matches all names with the lock",
			file: "internal/state/key_history.go",
			from: "return now.changed > version && now.changedFor(", to: "return now.changedFor(",
			in: known, tests: "^TestAComparisonMatchesNoNamesWithTheLock$",
		},
		{
			what: "keys: a change of a key that does not count reaches workloads",
			file: history,
			from: "		if changes.count(keys) {", to: "		if len(changes.keys) > 0 {",
			in: known, tests: "^TestAKeyThatNobodyUsesReachesNoneOfManyWorkloads$",
		},
		{
			what: "keys: a change of a key that counts reaches no workload",
			file: history,
			from: "		if changes.count(keys) {", to: "		if keys == nil {",
			in: controller, tests: unused,
		},
		{
			what: "keys: random histories do not find a lost change of a key that counts",
			file: history,
			from: "		if changes.count(keys) {", to: "		if keys == nil {",
			in: controller, tests: keyHistories,
		},
		{
			what: "keys: each key that changed is compared with a list of one",
			file: "internal/source/keys.go",
			from: "	if k.all || len(names) < len(k.only) {\n", to: "	if len(names) >= 0 {\n",
			in: known, tests: "^TestManyChangedKeysTakeTimeInProportion$",
		},
		{
			what: "keys: long lists of keys are compared with the lock",
			file: changes,
			from: "	if len(c.keys) > fewKeys {\n", to: "	if len(c.keys) < 0 {\n",
			in: known, tests: "^TestLongListsOfKeysAreComparedWithoutTheLock$",
		},
		{
			what: "keys: what another event changed meanwhile does not count",
			file: history,
			from: "	if changes.before != known.Digest {\n", to: "	if false {\n",
			in: known, tests: "^TestAListThatWasNotComparedBeforeIsComparedWithTheEvent$",
		},
		{
			what: "keys: a gap in the history of keys hides a change",
			file: history,
			from: "	if next.keys = nil; restricted && live {", to: "	if restricted && live {",
			in: controller, tests: "^TestAGapInTheHistoryOfKeysHidesNoChange$",
		},
		{
			what: "keys: a template has as many uses as it has mounts and items together",
			file: "internal/workload/references.go",
			from: "return r.count > mostUses && !r.merged }", to: "return false }",
			in: "./internal/workload", tests: "^TestATemplateWithTooManyUsesHasOneForEachSource$",
		},
		{
			what: "keys: a template with too many uses counts no key of its variables",
			file: uses,
			from: "		return u.Unknown || u.Merged\n", to: "		return u.Unknown\n",
			in: "./internal/workload", tests: "^TestATemplateWithTooManyUsesHasOneForEachSource$",
		},
		{
			what: "keys: a digest of other keys of the same data counts as other data",
			file: core,
			from: "		if recorded == c.Source.DigestOf(keys) || c.Earlier", to: "		if c.Earlier",
			in: controller, tests: chosen,
		},
		{
			what: "keys: a digest of the whole source counts as other data where only some keys count",
			file: core,
			from: "	case c.Keys != nil && (recorded", to: "	case c.Keys == nil && (recorded",
			in: controller, tests: "^TestASwitchWhileNoControllerRuns$",
		},
		{
			what: "keys: what changes after labels select a source counts from its first change on",
			file: core,
			from: "	labeled := f.reselected(c)\n", to: "	labeled := uint64(0)\n",
			in: controller, tests: selected,
		},
		{
			what: "keys: of a selected source, only used keys count",
			file: rule,
			from: "	case rule == RuleSelected:", to: "	case false:",
			in: controller, tests: selected,
		},
		{
			what: "keys: of a named source, only used keys count",
			file: rule,
			from: "	case rule == RuleNamed:", to: "	case false:",
			in: "./internal/policy", tests: counted,
		},
		{
			what: "keys: with a mistake in a list, only used keys count",
			file: rule,
			from: "		return KeyRule{on: on}\n", to: "		return KeyRule{on: on, mode: KeysUsed}\n",
			in: "./internal/policy", tests: counted,
		},
		{
			what: "keys: a digest does not cover which keys it is of",
			file: "internal/source/keys.go",
			from: "e.Selected(k.only, k.without, s.Keys, k.Has)", to: "e.Selected(nil, nil, s.Keys, k.Has)",
			in: "./internal/source", tests: "^TestADigestOfSomeKeysCoversThemAlone$",
		},
		{
			what: "keys: the time of another key hides that one was removed",
			file: "internal/reload/compare.go",
			from: "		removed = c.Source.MayLack(c.Keys)\n", to: "",
			in: controller, tests: "^TestARemovedKeyIsNotHiddenByTheTimeOfAnother$",
		},
		{
			what: "keys: a variable without a key uses none",
			file: uses,
			from: "		return u.Unknown || u.Merged\n", to: "		return u.Merged\n",
			in: "./internal/workload", tests: templates,
		},
		{
			what: "keys: an item without a key uses none",
			file: uses,
			from: "			if f.items[i].Key == \"\" {\n				return nil\n			}\n", to: "",
			in: "./internal/workload", tests: templates,
		},
		{
			what: "keys: a path that nothing provides uses no key",
			file: uses,
			from: "	if some {\n		return found", to: "	if some || sub != \".\" {\n		return found",
			in: "./internal/workload", tests: templates,
		},
		{
			what: "keys: the file of a service account token shows all of the volume",
			file: uses,
			from: "	if own := ownFiles(from); len(own) > 0 {", to: "	if own := ownFiles(from); len(own) < 0 {",
			in: "./internal/workload", tests: templates,
		},
		{
			what: "keys: a key that no name shows is none instead of unknown",
			file: uses,
			from: "	return shown == nil && len(f.items) > 0 && f.kind.HasKeys()", to: "	return false",
			in: "./internal/workload", tests: templates,
		},
		{
			what: "keys: a field beside a reference that this version does not know is not noted",
			file: "internal/workload/unknown_fields.go",
			from: "	if !leads && t.Kind() == reflect.Struct {", to: "	if !leads && false {",
			in: "./internal/workload", tests: "^TestAnUnknownFieldBesideAnyReferenceIsNoted$",
		},
		{
			what: "keys: a write before a change of another source is called ignored",
			file: "internal/inspect/keys.go",
			from: " && src.DataTime.Unix() > l.DataTime", to: "",
			in: "./internal/inspect", tests: "^TestAWriteThatIsOlderThanTheLedgerIsNotCalledIgnored$",
		},
		{
			what: "keys: one digest for all of whole sources is other data",
			file: "internal/reload/keys.go",
			from: "	case ledger.Aggregate(kind, whole) == recorded:", to: "	case false:",
			in: "./internal/reload", tests: "^TestOneDigestForAllInAnotherForm$",
		},
		{
			what: "keys: one digest for all of used keys is other data",
			file: "internal/reload/keys.go",
			from: "	case restricted && !maps.Equal(whole, used) && ledger.Aggregate(kind, used) == recorded:", to: "	case restricted && !maps.Equal(whole, used) && false:",
			in: "./internal/reload", tests: "^TestOneDigestForAllInAnotherForm$",
		},
		{
			what: "keys: one digest for all covers the keys of the first form alone",
			file: "internal/reload/keys.go",
			from: "		whole[key], used[key] = c.Source.Digest, c.Source.Digest\n", to: "		whole[key] = c.Source.Digest\n",
			in: "./internal/reload", tests: "^TestOneDigestForAllInAnotherForm$",
		},
	}
}
