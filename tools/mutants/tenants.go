package main

// tenants are mutations by which what one tenant writes harms others, or others get what is theirs.
func tenants() []mutation {
	const signed, recreated, reports = "internal/kinds/signed.go", "internal/controller/recreate_job.go", "./internal/report"
	of := func(what, file, from, to, in, tests string) mutation {
		return mutation{what: "tenants: " + what, file: file, from: from, to: to, in: in, tests: "^(" + tests + ")$"}
	}
	return []mutation{
		of("a forged copy deletes a Job", signed, "return err == nil && key.HasSigned(c.job.Annotations[signedAnnotation], \"copy\", texts...)", "return err == nil && len(texts) > 0", controller, "TestAForgedCopyDeletesNoJobAndMakesNone"),
		of("an old copy that is restored is believed", signed, "		uid = c.job.UID\n", "", controller, "TestARestoredOldCopyCreatesNoJob"),
		of("a copy that a webhook changed is not believed", signed, "func (c *Copy) Sign(key digest.Key) (Patch, error) { return c.patch(key, nil) }", "func (c *Copy) Sign(digest.Key) (Patch, error) { return c.patch(digest.Key{}, nil) }", controller, "TestACopyChangedByAWebhookIsSignedAsStored"),
		of("a held Job without a signature begins", signed, "return heldBy(key, job, job.UID) || heldBy(key, job, \"\")", "return heldBy(key, job, job.UID) || heldBy(key, job, \"\") || job.Annotations[signedAnnotation] == \"\"", controller, "TestAForgedHeldJobIsNotUnsuspended"),
		of("a forged run counts", signed, "	r.Signed = key.HasSigned(r.signature, \"run\", r.signed()...)\n", "	r.Signed = key.HasSigned(r.signature, \"run\", r.signed()...) || r.signature == \"\"\n", controller, "TestAForgedRunPoisonsNoCronJob"),
		of("a Job of a namespace that is not selected is deleted", recreated, "		return kinds.AwaitEnd // until the namespace is selected\n", "		return step\n", controller, "TestAJobIsOnlyDeletedWhereItIsSelectedAndOptedIn|TestAJobIsStillRecreatedWhenItsNamespaceIsSelected"),
		of("a Job that is not opted in any more is deleted", recreated, "		return kinds.DropCopy\n	}\n	return step\n", "		return step\n	}\n	return step\n", controller, "TestAJobIsOnlyDeletedWhereItIsSelectedAndOptedIn|TestAJobIsStillRecreatedWhenItsNamespaceIsSelected"),
		{
			what: "tenants: others may write what holds a Job",
			file: "deploy/admission-policy.yaml",
			from: "[\"reroll.dev/replaces\", \"reroll.dev/deletes\", \"reroll.dev/held\", \"reroll.dev/signed\"].filter(", to: "[\"reroll.dev/replaces\", \"reroll.dev/deletes\", \"reroll.dev/signed\"].filter(",
			in: "./test/permissions", tests: "^TestTheAdmissionPolicy$/^lets_nobody_else_write",
		},
		{
			what: "tenants: others may write what holds a Job with its status",
			file: "deploy/admission-policy.yaml",
			from: "resources: [\"jobs\", \"jobs/status\"]", to: "resources: [\"jobs\"]",
			in: "./test/permissions", tests: "^TestTheAdmissionPolicy$/^lets_nobody_else_write",
		},
		of("Slack shows the mentions of a tenant", "internal/report/alert_slack.go", "\"<\", \"&lt;\", ", "", reports, "TestSlackShowsTextsOfTenantsAsTheyAre"),
		of("Google Chat shows the links of a tenant", "internal/report/alert_gchat.go", "strings.NewReplacer(\"<\", \"‹\", \">\", \"›\").Replace(text)", "text", reports, "TestGoogleChatShowsTextsOfTenantsAsTheyAre"),
		of("Teams shows the links of a tenant", "internal/report/alert_teams.go", "\"://\", \":\"+zeroWidthSpace+\"//\", ", "", reports, "TestTeamsShowsTextsOfTenantsAsTheyAre"),
		of("Teams makes a link of the host that a tenant names", "internal/report/alert_teams.go", ", \".\", \".\"+zeroWidthSpace", "", reports, "TestTeamsShowsTextsOfTenantsAsTheyAre"),
		of("each field manager becomes a time series", "internal/reload/reverts.go", "			return otherManager\n", "			return r.Writer\n", "./internal/reload", "TestWhoTookAMarkBackIsNamedNoMoreSurelyThanItIsKnown"),
		of("profiles are served on all interfaces", "internal/config/config.go", "\"pprof-addr\", \"127.0.0.1:6060\"", "\"pprof-addr\", \":6060\"", "./internal/config", "TestProfilesAreServedOnLoopbackByDefault"),
		of("the SHA-1 of a Secret stays in memory", "internal/digest/digest_key.go", "	if k.newMAC == nil || k.sha1 {\n", "	if k.newMAC == nil || k.sha1 || len(sum) > 0 {\n", "./internal/source", "TestSourceKeepsNoSHA1OfASecret"),
		of("a workload that writes what it reads is rolled for ever, unsaid", "internal/controller/reload_often.go", "len(count.reloads) < manyReloads", "len(count.reloads) < 2*manyReloads", controller, "TestAJobThatWritesWhatItReadsIsReportedAtItsTenthReload"),
		of("facts are built for workloads without Jobs", "internal/controller/trigger_cronjob.go", "	if w.Runs == nil {\n		return nil\n	}\n	key := w.Key\n", "	key := w.Key\n", controller, "TestNoFactsAreCollectedForWorkloadsWithoutJobs"),
		of("labels that no selector matches are not reported", "internal/source/source.go", "	if src.Annotations.Labels == (Labels{}) && len", "	if meta.Labels == nil && src.Annotations.Labels == (Labels{}) && len", "./internal/source", "TestMoreLabelsThanPeopleWriteMatchNoSelector"),
		of("Pods that another client's rollout keeps old are not reported", "internal/controller/others_rollouts.go", "	if kept.Cause != \"\" {\n", "	if kept.Cause == \"-\" {\n", controller, "TestPodsKeptByAnotherClientsRolloutAreReportedOnce"),
	}
}
