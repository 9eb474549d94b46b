package main

// approvals are mutations of what waits for the consent of a user.
func approvals() []mutation {
	const gates, engine, rule, answers = "internal/gate/approval.go", "internal/controller/approval.go", "^TestAReloadWaitsForApproval", "./internal/gate"
	return []mutation{
		{
			what: "approval: a request outlives the rollout of a user",
			file: "internal/controller/notify_mode.go",
			from: "(awaits.by == gate.Notify || awaits.by == gate.Approval)", to: "awaits.by == gate.Notify",
			in: controller, tests: "^TestTheRolloutOfAUserEndsARequest$",
		},
		{
			what: "approval: consent to other data counts",
			file: gates,
			from: "given == src.Digest.String() && ", to: "",
			in: controller, tests: "^TestConsentToDataThatHasChangedSince",
		},
		{
			what: "approval: consent to other data counts, in histories",
			file: gates,
			from: "given == src.Digest.String() && ", to: "",
			in: controller, tests: histories,
		},
		{
			what: "approval: consent on a source without a namespace counts for all tenants",
			file: gates,
			from: " && !src.Key.Kind.ClusterScoped() &&", to: " &&",
			in: answers, tests: rule,
		},
		{
			what: "approval: consent in another namespace counts",
			file: gates,
			from: " && !src.Key.IsForeign()\n}", to: "\n}",
			in: answers, tests: rule,
		},
		{
			what: "approval: one digest in the ledger is also that of a source of another namespace",
			file: gates,
			from: " && !seen[src.Key] && !src.Key.IsForeign() {", to: " && !seen[src.Key] {",
			in: answers, tests: "^TestAllSourcesOfAnAggregate",
		},
		{
			what: "approval: consent on a workload is to any of its data",
			file: gates,
			from: "b = b.Text(src.Key.Kind.String()).Text(src.Key.Name).Text(sum.String())", to: "_ = sum",
			in: answers, tests: "^TestConsentOnAWorkloadIsWorthNothing",
		},
		{
			what: "approval: consent to one of two sources is enough",
			file: gates,
			from: "		return Answer{}\n	case n > 1", to: "		return Answer{}\n	case len(d.Changes) > n:\n		return Answer{}\n	case n > 1",
			in: answers, tests: rule,
		},
		{
			what: "approval: an urgent change passes",
			file: gates,
			from: "	by := f.RequiresApproval()\n", to: "	if isUrgent(d) {\n		return Answer{}\n	}\n	by := f.RequiresApproval()\n",
			in: answers, tests: rule,
		},
		{
			what: "approval: an invalid value requires nothing",
			file: "internal/annotations/approval.go",
			from: "approvalRight))\n	}\n	return true", to: "approvalRight))\n		return false\n	}\n	return true",
			in: controller, tests: "^TestAnInvalidApproval",
		},
		{
			what: "approval: a workload lifts what its pod template requires",
			file: "internal/policy/approval.go",
			from: "; own.by == \"\" {\n		own.by = of.by\n	}", to: "; own.by == \"\" {\n		_ = of\n	}",
			in: answers, tests: rule,
		},
		{
			what: "approval: what waits as one digest is not asked for",
			file: gates,
			from: "; aggregated && kinds", to: "; false && aggregated && kinds",
			in: answers, tests: "^TestAllSourcesOfAnAggregate",
		},
		{
			what: "approval: a consent on a workload starts nothing",
			file: "internal/policy/policy.go",
			from: " && p.approval == other.approval", to: "",
			in: controller, tests: "^TestConsentOnAWorkloadIsForThatWorkloadAlone$",
		},
		{
			what: "approval: a restart asks again",
			file: "internal/controller/gate.go",
			from: "	n.Once = fmt.Sprintf(\"%s %d %s %s %s\", answer.By, d.Ledger.Counter, answer.Source, data, n.Once)", to: "	_ = data",
			in: controller, tests: "^TestARestartDoesNotApproveAndDoesNotAskAgain$",
		},
		{
			what: "approval: other data is not asked for",
			file: engine,
			from: "same := r.asked.digest == answer.Request.Digest && ", to: "same := ",
			in: controller, tests: "^TestConsentToDataThatHasChangedSince",
		},
		{
			what: "approval: each try asks",
			file: engine,
			from: "	if same {", to: "	if same && false {",
			in: controller, tests: "^TestNothingIsRolledUntilAUserApprovesIt$",
		},
		{
			what: "approval: nothing has to be approved",
			file: "internal/gate/gate.go",
			from: "	if a := checkApproval(f, d); !a.Open() {\n		return a\n	}\n", to: "",
			in: controller, tests: histories,
		},
		{
			what: "approval: a plan counts consent to the present data",
			file: "internal/inspect/plan.go",
			from: "				src.Digest = digest.Digest{}", to: "				_ = digest.Digest{}",
			in: "./internal/inspect", tests: "^TestAPlanShowsThatApprovalIsRequired$",
		},
		{
			what: "approval: data is approved that the user has not seen",
			file: "internal/inspect/approve.go",
			from: "	case seen != \"\" && seen != a.Digest:", to: "	case false:",
			in: "./internal/inspect", tests: "^TestAnApprovalOfOtherData",
		},
		{
			what: "approval: a Job that is made again keeps the consent",
			file: "internal/kinds/job_copy.go",
			from: "	delete(old.Annotations, annotations.Approved)", to: "	_ = annotations.Approved",
			in: "./internal/kinds", tests: "^TestWhatTakesThePlaceOfAJobIsNotApproved$",
		},
	}
}
