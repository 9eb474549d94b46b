package main

// drawn are mutations that matter where something is drawn in the histories: see
// histories_draws_test.go.
func drawn() []mutation {
	return []mutation{
		{
			what: "everything opted in: since when it is does not matter",
			file: "internal/reload/unseen_edit.go",
			from: "		optedIn = all\n", to: "		optedIn = f.Installed\n",
			in: controller, tests: histories,
		},
		{
			what: "everything opted in: a template that came back has to bring what was edited before",
			file: "internal/reload/compare.go",
			from: "c.Source.DataTime.Before(since)", to: "c.Source.DataTime.Before(f.Installed)",
			in: core, tests: "^TestATemplateThatCameBack$",
		},
		{
			what: "opted in late: since when a workload asks does not matter",
			file: "internal/reload/unseen_edit.go",
			from: "	optedIn := f.Workload.OptedInAt\n", to: "	optedIn := f.Installed\n",
			in: core, tests: "^TestAnEditThatNobodySawCountsOnlyIfItWasCovered$",
		},
		{
			what: "opted in late: what was seen to change before a workload asked is acted upon",
			file: "internal/reload/unseen_edit.go",
			from: "		return f.Seen.Policy\n	}", to: "		return 0\n	}",
			in: controller, tests: histories,
		},
		{
			what: "all ways to ask: an expression names nothing",
			file: "internal/annotations/lists.go",
			from: "		if l.Entries[at].Pattern.Matches(name) {", to: "		if l.Entries[at].Pattern == nil {",
			in: controller, tests: histories,
		},
		{
			what: "all ways to ask: who searches finds what does not match",
			file: "internal/policy/verdict.go",
			from: "refers && policy.search && ann.Match:", to: "refers && policy.search:",
			in: controller, tests: histories,
		},
		{
			what: "all ways to ask: what is excluded concerns the workload",
			file: "internal/policy/verdict.go",
			from: "	case policy.excluded.Has(src.Name):", to: "	case policy.excluded.Has(src.Namespace):",
			in: controller, tests: histories,
		},
		{
			what: "all ways to ask: a source that is to be ignored concerns workloads",
			file: "internal/policy/verdict.go",
			from: "	case ann.Ignore:", to: "	case ann.Ignore && ann.Match && refers && src.Name == \"\":",
			in: controller, tests: histories,
		},
		{
			what: "all ways to ask: who begins to search asks for nothing new",
			file: "internal/policy/policy.go",
			from: "now.search && !before.search || ", to: "",
			in: "./internal/policy", tests: "^TestWhichAnnotationsSelectMoreThanBefore$",
		},
		{
			what: "sources selected: one that is not concerns workloads",
			file: "internal/policy/verdict.go",
			from: "	case ann.Unselected:", to: "	case ann.Unselected && src.Name == \"\":",
			in: controller, tests: histories,
		},
		{
			what: "optional references: pods that run without a source are waiting for it",
			file: "internal/state/revisions.go",
			from: "	if w.seen.Ready == 0 &&", to: "	if w.seen.Ready == 1 &&",
			in: controller, tests: "^TestKeptHistories$",
		},
		{
			what: "managers forgotten: data that claims to be much older than the ledger is",
			file: "internal/reload/compare.go",
			from: "	if unseen && c.Source.DataTime.Unix() <= base.ledger.DataTime", to: "	if unseen && c.Source.DataTime.Unix() == base.ledger.DataTime",
			in: controller, tests: histories,
		},
		{
			what: "pods not found: an empty list of pods is believed",
			file: "internal/reload/evidence.go",
			from: "&& f.Workload.Hides(pods.Count)", to: "&& f.Workload.Hides(pods.Count + 1)",
			in: controller, tests: histories,
		},
		{
			what: "pods not found: a status that still counts deleted pods is believed",
			file: "internal/reload/evidence.go",
			from: "(f.Workload.Custom || f.Workload.SelectorGuessed) && ", to: "",
			in: core, tests: "^TestDecide$",
		},
		{
			what: "managers of labels: who owns them beside the data proves an edit",
			file: "internal/source/managed_fields.go",
			from: "		default:\n			alone = false", to: "		default:\n			alone = alone && owns",
			in: controller, tests: histories,
		},
		{
			what: "pauses: one whose time somebody took away is nobody's",
			file: "internal/workload/pause.go",
			from: "!p.Others && (p.Noted || p.Own)", to: "!p.Others && p.Noted",
			in: controller, tests: histories,
		},
		{
			what: "pauses: one that begins in the year 2199 is waited for",
			file: "internal/workload/pause.go",
			from: "	case since.After(now.Add(clockSkew)):", to: "	case since.After(now.Add(clockSkew)) && !set:",
			in: controller, tests: histories,
		},
		{
			what: "namespace selected: workloads of one that is not are looked at",
			file: "internal/controller/namespaces.go",
			from: "c.opts.NamespaceSelector == nil || c.state.Selected(namespace)", to: "c.opts.NamespaceSelector == nil || namespace != \"\"",
			in: controller, tests: histories,
		},
		{
			what: "namespace selected: what was seen to change before is acted upon",
			file: "internal/state/state.go",
			from: "		if in.version > f.Seen.Policy {", to: "		if in.version > f.Seen.Policy && in.version == 0 {",
			in: controller, tests: histories,
		},
		{
			what: "namespace selected: since when it is does not matter",
			file: "internal/reload/unseen_edit.go",
			from: "f.Coverage.Since, f.SelectedAt}", to: "f.Coverage.Since}",
			in: core, tests: "^TestAnEditThatNobodySawCountsOnlyIfItWasCovered$",
		},
		{
			what: "asked on templates: what they say is not read",
			file: "internal/policy/annotations.go",
			from: "	if !from.HasAny(opting...) {", to: "	if !from.HasAny(opting...) && from.InTemplate {",
			in: controller, tests: histories,
		},
		{
			what: "opted in late: what was edited before, and arrives after the first ledger, is acted upon",
			file: "internal/reload/compare.go",
			from: "	if f.beforeAdoption(c) {", to: "	if f.beforeAdoption(c) && c.Seen.Content == 0 {",
			in: core, tests: "^TestDecide$",
		},
		{
			what: "on delete: what a source said before it was deleted does not matter",
			file: "internal/reload/presence.go",
			from: "		annotations = left.Source.Annotations\n", to: "		annotations.Ignore = false\n",
			in: core, tests: "^TestASourceThatIsDeleted$",
		},
		{
			what: "on create: what was labeled and deleted before the first ledger is new when it is made again",
			file: "internal/reload/presence.go",
			from: "		case recorded, unproven:", to: "		case recorded:",
			in: core, tests: "^TestASourceThatIsDeletedBeforeTheFirstLedger$",
		},
		{
			what: "on create: Pods of a reload count as Pods with the sources that are missing then",
			file: "internal/reload/presence.go",
			from: "		if f.isAbsent(key) {\n			missing = append(missing, key)", to: "		if false {\n			missing = append(missing, key)",
			in: core, tests: "^TestASourceThatIsDeleted$",
		},
		{
			what: "Jobs: one that two late requests create starts again",
			file: "internal/kinds/recreate_job.go",
			from: "job.DeletionTimestamp == nil && c.deletes() && IsHeld(job)", to: "job.DeletionTimestamp == nil && IsHeld(job)",
			in: "./internal/kinds", tests: "^TestTheNextStepFollowsFromWhatIsThere$",
		},
	}
}
