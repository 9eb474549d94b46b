package main

// expressions are mutations of what the expressions of users cost others.
func expressions() []mutation {
	const lists, answers, core = "internal/annotations/lists.go", "internal/annotations/answers.go", "./internal/annotations"
	const once, again, changed = "^TestExpressionsAreMatchedOnceForAName$", "^TestOtherExpressionsAreMatchedAgain$", "^TestAChangedKeyIsMatchedWithoutTheLock$"
	return []mutation{
		{
			what: "expressions: answers are not remembered",
			file: answers,
			from: "	a.of[name] = int16(at)", to: "	a.of[\"\"] = int16(at)",
			in: known, tests: once,
		},
		{
			what: "expressions: each event of a workload forgets the answers",
			file: lists,
			from: "		return known\n	}\n	return l\n}\n\n// HasName", to: "		return l\n	}\n	return l\n}\n\n// HasName",
			in: known, tests: once,
		},
		{
			what: "expressions: answers are kept if the annotations change",
			file: lists,
			from: "	if l.Equal(known) {\n		return known", to: "	if l != nil && known != nil {\n		return known",
			in: known, tests: again,
		},
		{
			what: "expressions: answers have no bound",
			file: answers,
			from: "			delete(a.of, forgotten)\n", to: "			_ = forgotten\n",
			in: core, tests: "^TestAnswersAreBounded$",
		},
		{
			what: "expressions: an event matches all references with the lock",
			file: "internal/state/key_history.go",
			from: "rule.Of(key, w.UsedKeys(key), 0, byDefault).Keys", to: "w.KeysOf(key, source.Labels{}, byDefault).Keys",
			in: known, tests: "^TestTheWorstAnnotationsHoldTheLockForAMoment$",
		},
		{
			what: "expressions: an edit is matched with the lock",
			file: "internal/state/key_changes.go",
			from: "	s.matchAhead(src.Key)\n", to: "",
			in: known, tests: changed,
		},
	}
}
