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
			file: "internal/reload/tally.go",
			from: "t.disowned || t.uncertified\n", to: "t.disowned\n",
			in: controller, tests: "^TestALedgerGetsItsCertificatesOnce$",
		},
		{
			what: "certificates: nothing starts when one expires",
			file: "internal/controller/window.go",
			from: "		until, byClock = at, true\n", to: "		_ = at\n",
			in: controller, tests: "^TestACertificateThatExpiresPassesTheGateURL$|" + expires,
		},
		{
			what: "certificates: a chain is as good as its first one",
			file: "internal/source/certificate.go",
			from: "			first = c\n		}", to: "			_ = c\n		}",
			in: "./internal/source", tests: "^TestTheCertificateThatExpiresFirst$",
		},
		{
			what: "certificates: each reason of a gate is an override of its own",
			file: "internal/controller/certificate.go",
			from: "n.Once = o.Source.Name + \" \" + o.At.String()", to: "n.Once = n.Text",
			in: controller, tests: "^TestTheOverrideOfAGateIsReportedOnce$",
		},
	}
}
