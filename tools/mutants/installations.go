package main

// installations are mutations of what happens between two installations that watch the same
// namespaces.
func installations() []mutation {
	const decision, noted = "internal/reload/other_installation.go", "internal/controller/other_installations.go"
	const left, another = "^TestAWorkloadIsLeftToTheInstallationThatAdoptedIt$", "^(TestAnotherInstallation|TestTheOtherInstallationReloads)$"
	return []mutation{
		{what: "installations: the other one is waited for without end", file: decision, from: "case !known, behind && f.Waited:", to: "case !known:", in: core, tests: left},
		{what: "installations: the other one is not waited for", file: decision, from: "case !known, behind && f.Waited:", to: "case !known, behind:", in: core, tests: left},
		{what: "installations: any other key is that of another installation", file: decision, from: "case !known, behind && f.Waited:", to: "case behind && f.Waited:", in: core, tests: left},
		{what: "installations: a removed key of a Secret is not missed", file: decision, from: " || f.order(c) == outOfDate", to: "", in: core, tests: left},
		{what: "installations: a newer Secret is not missed", file: decision, from: "src.DataTime.Unix() > standing.DataTime || ", to: "", in: core, tests: left},
		{what: "installations: one digest for all ConfigMaps is not compared", file: decision, from: "!f.AllCurrent(kind, all)", to: "f.AllCurrent(kind, all)", in: core, tests: left},
		{what: "installations: its own ConfigMap is that of another one", file: noted, from: "cm.Namespace == c.opts.Namespace || ", to: "", in: controller, tests: another},
		{what: "installations: a deleted ConfigMap is kept", file: noted, from: "		return gone(types.NamespacedName{Namespace: namespace,", to: "		return namespace == \"\" && gone(types.NamespacedName{Namespace: namespace,", in: controller, tests: another},
		{
			what: "installations: one that is not known takes a ledger over, and no event shows it",
			file: "internal/controller/notices.go",
			from: "if facts.TakenOver() {", to: "if false && facts.TakenOver() {",
			in: controller, tests: "^TestAnUnknownInstallationIsReportedOnTheWorkload$",
		},
		{
			what: "installations: a rollback of a ledger counts as another installation",
			file: "internal/ledger/rank.go",
			from: "return l.Instance != other.Instance && !l.olderThan(other)", to: "return l.Instance != other.Instance",
			in: core, tests: "^TestAnUnknownInstallationTakesTheLedgerOver$",
		},
	}
}
