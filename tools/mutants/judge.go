package main

// certificates are mutations of what lets the renewal of a certificate pass gates.
func certificates() []mutation {
	const gates, engine = "internal/gate/certificate.go", "internal/reload/certificates.go"
	const expires = "^TestACertificateThatExpiresIsReplacedThroughAClosedWindow$"
	return []mutation{
		{
			what: "certificates: one that expires waits",
			file: gates,
			from: "return !o.At.IsZero() && !o.At.After(now)", to: "return false",
			in: controller, tests: expires,
		},
		{
			what: "certificates: each change of one passes all gates",
			file: gates,
			from: "return !o.At.IsZero() && !o.At.After(now)", to: "return !o.At.IsZero()",
			in: controller, tests: expires,
		},
		{
			what: "certificates: a tenth of the lifetime is not left",
			file: gates,
			from: "max((c.NotAfter-c.NotBefore)/shareBefore, leastBefore)", to: "int64(leastBefore)",
			in: "./internal/gate", tests: "^TestNoGateHoldsFromATenth",
		},
		{
			what: "certificates: less than an hour is left",
			file: gates,
			from: "max((c.NotAfter-c.NotBefore)/shareBefore, leastBefore)", to: "(c.NotAfter-c.NotBefore)/shareBefore",
			in: "./internal/gate", tests: "^TestNoGateHoldsFromATenth",
		},
		{
			what: "certificates: the limit of reloads does not count",
			file: "internal/gate/gate.go",
			from: "		a := checkChurn(f, d) //", to: "		a := Answer{} //",
			in: "./internal/gate", tests: "^TestACertificateThatExpiresWaitsForNoGateButTheLimit$",
		},
		{
			what: "certificates: the ledger notes none",
			file: engine,
			from: "			put(src.Key.Name, src.Certificate)", to: "			put(\"\", src.Certificate)",
			in: controller, tests: "^TestARestartForgetsNoCertificate$",
		},
		{
			what: "certificates: an earlier ledger gets none",
			file: "internal/reload/decide.go",
			from: "|| tally.uncertified ||", to: "||",
			in: controller, tests: "^TestALedgerGetsItsCertificatesOnce$",
		},
		{
			what: "certificates: nothing starts when one expires",
			file: "internal/controller/window.go",
			from: "		until, byClock = at, true\n", to: "		_ = at\n",
			in: controller, tests: "^TestACertificateThatExpiresPassesTheJudge$|" + expires,
		},
		{
			what: "certificates: a chain is as good as its first one",
			file: "internal/source/certificate.go",
			from: "			first = c\n		}", to: "			_ = c\n		}",
			in: "./internal/source", tests: "^TestTheCertificateThatExpiresFirst$",
		},
	}
}

// repeats are mutations of what is reported again, or not too often.
func repeats() []mutation {
	return []mutation{
		{
			what: "notify: each change is notified",
			file: "internal/controller/gate.go",
			from: "		awaits.notified = facts.Now\n", to: "		_ = notifyIn\n",
			in: controller, tests: "^TestASourceThatIsWrittenInALoop",
		},
		{
			what: "namespaces: one that no longer opts out rolls earlier changes",
			file: "internal/reload/unseen_edit.go",
			from: "		since = f.OptedInByNamespaceAt // until", to: "		_ = since // until",
			in: controller, tests: "^TestANamespaceThatOptsOutNoLonger",
		},
		{
			what: "namespaces: a command that waits reads them once",
			file: "internal/inspect/wait.go",
			from: "clk.Since(read) >= again", to: "false",
			in: "./internal/inspect", tests: "^TestACommandThatWaitsReads",
		},
	}
}

// judges are mutations of what asks a program outside of the cluster.
func judges() []mutation {
	const queue = "internal/controller/judging.go"
	return []mutation{
		{
			what: "judge: each answer allows a reload",
			file: "internal/report/judge.go",
			from: "answer.StatusCode == http.StatusOK", to: "answer.StatusCode > 0",
			in: "./internal/report", tests: "^TestOnly200LetsAReloadStart$",
		},
		{
			what: "judge: a namespace takes all turns",
			file: queue,
			from: "j.asking[ns] >= judgeShare", to: "j.asking[ns] >= judgeWorkers",
			in: controller, tests: "^TestAJudgeThatHangsForSomeNamespaces",
		},
		{
			what: "judge: an answer about other data counts",
			file: queue,
			from: "now.Query == q.Query && !now.asked", to: "!now.asked",
			in: controller, tests: "^TestAnAnswerAboutOtherData",
		},
		{
			what: "judge: an answer wakes nothing",
			file: "internal/controller/judge.go",
			from: "		c.queue.Add(q.Workload, 0, 0)\n", to: "		_ = q\n",
			in: controller, tests: "^TestAReloadStartsWhenTheJudgeAllowsIt$",
		},
		{
			what: "judge: the ledger shows each question",
			file: "internal/controller/gate.go",
			from: "	if answer.Asked && ", to: "	if false && ",
			in: controller, tests: "^TestAReloadStartsWhenTheJudgeAllowsIt$",
		},
		{
			what: "judge: an answer counts for ever",
			file: queue,
			from: "j.clock.Now().Before(now.until)", to: "!now.until.IsZero()",
			in: controller, tests: "^TestAFreePlaceCausesOneQuestion$",
		},
		{
			what: "judge: a reload that waits is never asked about again",
			file: "internal/controller/judge.go",
			from: "		c.questions.Later(q.Workload, judgeAgain)\n", to: "",
			in: controller, tests: "^TestAReloadWaitsUntilTheJudge",
		},
		{
			what: "judge: each answer wakes its workload",
			file: queue,
			from: "wakes := why == \"\" || now.why == \"\"", to: "wakes := true",
			in: controller, tests: "^TestAReloadThatWaitsForTheJudgeCausesNoRequests$",
		},
		{
			what: "judge: a free place goes to each workload in turn",
			file: "internal/controller/waves.go",
			from: "		case !unanswered:", to: "		case true || !unanswered:",
			in: controller, tests: "^TestAFreePlaceCausesOneQuestion$",
		},
		{
			what: "judge: a reload without an answer is not held",
			file: queue,
			from: "j.clock.Now().Before(held)", to: "true",
			in: controller, tests: "^TestAReloadWithoutAnAnswerIsHeld",
		},
		{
			what: "judge: a workload has several questions",
			file: queue,
			from: "	if now, known := j.about[key]; known && now.asked {", to: "	if now, known := j.about[key]; known && false {",
			in: controller, tests: "^TestEachQuestionIsAsked$",
		},
		{
			what: "judge: it is asked about a reload that another gate holds",
			file: "internal/controller/gate.go",
			from: "answer.By != gate.Judge && answer.By != gate.Waves", to: "false",
			in: controller, tests: "^TestTheJudgeIsNotAskedAbout",
		},
		{
			what: "certificates: each reason of a gate is an override of its own",
			file: "internal/controller/certificate.go",
			from: "Text: o.Source.Name + \" \" + o.At.String()}", to: "Text: n.Text}",
			in: controller, tests: "^TestTheOverrideOfAGateIsReportedOnce$",
		},
		{
			what: "judge: a command shows no waves behind it",
			file: "internal/inspect/waves.go",
			from: "a.Open() && judge != nil", to: "judge != nil",
			in: "./internal/inspect", tests: "^TestAJudgeHidesNoWaves$",
		},
	}
}
