package main

// gateURL are mutations of what asks the program of --gate-url.
func gateURL() []mutation {
	const queue = "internal/controller/gate_url_questions.go"
	return []mutation{
		{
			what: "gate URL: each answer allows a reload",
			file: "internal/report/gate_url.go",
			from: "answer.StatusCode == http.StatusOK", to: "answer.StatusCode > 0",
			in: "./internal/report", tests: "^TestOnly200LetsAReloadStart$",
		},
		{
			what: "gate URL: a namespace takes all turns",
			file: queue,
			from: "g.asking[ns] >= gateURLShare", to: "g.asking[ns] >= gateURLWorkers",
			in: controller, tests: "^TestAGateURLThatHangsForSomeNamespaces",
		},
		{
			what: "gate URL: an answer about other data counts",
			file: queue,
			from: "now.Query == q.Query && !now.asked", to: "!now.asked",
			in: controller, tests: "^TestAnAnswerAboutOtherData",
		},
		{
			what: "gate URL: an answer wakes nothing",
			file: "internal/controller/gate_url.go",
			from: "		c.queue.Add(q.Workload, 0, 0)\n", to: "		_ = q\n",
			in: controller, tests: "^TestAReloadStartsWhenTheGateURLAllowsIt$",
		},
		{
			what: "gate URL: the ledger shows each question",
			file: "internal/controller/gate.go",
			from: "	if answer.Asked && ", to: "	if false && ",
			in: controller, tests: "^TestAReloadStartsWhenTheGateURLAllowsIt$",
		},
		{
			what: "gate URL: an answer counts for ever",
			file: queue,
			from: "g.clock.Now().Before(now.until)", to: "!now.until.IsZero()",
			in: controller, tests: "^TestAFreePlaceCausesOneQuestion$",
		},
		{
			what: "gate URL: a reload that waits is never asked about again",
			file: "internal/controller/gate_url.go",
			from: "		c.questions.Later(q.Workload, gateURLAgain)\n", to: "",
			in: controller, tests: "^TestAReloadWaitsUntilTheGateURL",
		},
		{
			what: "gate URL: each answer wakes its workload",
			file: queue,
			from: "wakes := why == \"\" || now.why == \"\"", to: "wakes := true",
			in: controller, tests: "^TestAReloadThatWaitsForTheGateURLCausesNoRequests$",
		},
		{
			what: "gate URL: a free place goes to each workload in turn",
			file: "internal/controller/waves.go",
			from: "		case !unanswered:", to: "		case true || !unanswered:",
			in: controller, tests: "^TestAFreePlaceCausesOneQuestion$",
		},
		{
			what: "gate URL: a reload without an answer is not held",
			file: queue,
			from: "g.clock.Now().Before(held)", to: "true",
			in: controller, tests: "^TestAReloadWithoutAnAnswerIsHeld",
		},
		{
			what: "gate URL: a workload has several questions",
			file: queue,
			from: "	if now, known := g.about[key]; known && now.asked {", to: "	if now, known := g.about[key]; known && false {",
			in: controller, tests: "^TestEachQuestionIsAsked$",
		},
		{
			what: "gate URL: it is asked about a reload that another gate holds",
			file: "internal/controller/gate.go",
			from: "answer.By != gate.URL && answer.By != gate.Waves", to: "false",
			in: controller, tests: "^TestTheGateURLIsNotAskedAbout",
		},
		{
			what: "gate URL: a command shows no waves behind it",
			file: "internal/inspect/waves.go",
			from: "a.Open() && gateURL != nil", to: "gateURL != nil",
			in: "./internal/inspect", tests: "^TestAGateURLHidesNoWaves$",
		},
	}
}
