package main

// shell are mutations of the packages around the decision: Jobs, watches, the lease, the queue,
// patches, and the commands.
func shell() []mutation {
	const lease, queue, patches, explained, stamped = "./internal/lease", "./internal/workqueue", "./internal/kinds", "./internal/inspect", "./internal/stamp"
	return []mutation{
		{
			what: "jobs: a Job that took the name of the one to recreate is deleted",
			file: "internal/controller/job_requests.go",
			from: "&policy, Preconditions: &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion}}", to: "&policy}",
			in: controller, tests: "^TestJobHistories$",
		},
		{
			what: "jobs: a copy without a signature of this installation is believed",
			file: "internal/controller/recreate_job_stuck.go",
			from: "kinds.HeldSigned(job, c.installation.Key)", to: "kinds.HeldSigned(job, c.installation.Key) || job != nil",
			in: controller, tests: "^TestAForgedHeldJobIsNotUnsuspended$",
		},
		{
			what: "jobs: a Job that an admission controller suspends is unsuspended",
			file: "internal/kinds/job_run.go",
			from: "if suspends(tried) {", to: "if suspends(tried) && !suspends(job) {",
			in: controller, tests: "^TestAJobThatAnAdmissionControllerSuspendsStaysSuspended$",
		},
		{
			what: "jobs: a run that is unsuspended has not begun until its status says so",
			file: "internal/kinds/job_run.go",
			from: "if !unbegun(job) || hasBegun(job) {", to: "if job.Status.StartTime != nil || hasBegun(job) {",
			in: controller, tests: "^TestAChangeIsNotLostWhileTheStatusOfARunLags$",
		},
		{
			what: "jobs: a second attempt to unsuspend a run counts as the first",
			file: "internal/controller/trigger_cronjob.go",
			from: "c.putAnsweredRun(job, own.Since != 0)", to: "c.putAnsweredRun(job, true)",
			in: controller, tests: "^TestAChangeIsNotLostWhileTheStatusOfARunLags$",
		},
		{
			what: "jobs: any held run begins, not only the one that the ledger records",
			file: "internal/reload/runs.go",
			from: "known.err == nil && run.UID == known.ledger.Run", to: "known.err == nil",
			in: core, tests: "^TestWhichHeldRunBegins$",
		},
		{
			what: "jobs: a resumed Job is taken to have begun when it was created",
			file: "internal/reload/runs.go",
			from: "if r.LastAtLeast {", to: "if r.LastAtLeast && r.Since > 0 {",
			in: core, tests: "^TestAPodOfAJobThatBeganWhileTheContentWasAway$",
		},
		{
			what: "digests of Secrets have no key",
			file: "internal/source/source.go",
			from: "key.SecretKey(src.Key.Namespace, src.Key.Name)", to: "digest.Key{}.SecretKey(src.Key.Namespace, src.Key.Name)",
			in: "./internal/source", tests: "^TestSecretDigestIsWorthNothingWithoutItsKey$",
		},
		{
			what: "intake: a watch that is resumed begins at the version of the snapshot",
			file: "internal/intake/watch.go",
			from: "				f.last = version\n", to: "				_ = version\n",
			in: intake, tests: "^TestWatchesGoOn$",
		},
		{
			what: "intake: a storage that was restored is asked for its future for ever",
			file: "internal/intake/snapshot.go",
			from: "if f.refusals >= mostRefusals || !tooLarge(err) {", to: "if f.refusals < 0 {",
			in: intake, tests: "^TestSnapshots$",
		},
		{
			what: "lease: a token of a reader is sent to a Pod of another account",
			file: "internal/lease/leader.go",
			from: " || there.Spec.ServiceAccountName != here.Spec.ServiceAccountName",
			to:   "",
			in:   lease, tests: "^TestATokenIsSentToNoPodOfAnotherAccount$",
		},
		{
			what: "lease: a write begins after the deadline of the renewal",
			file: "internal/lease/holder.go",
			from: "return h.holding && h.clock.Since(h.renewed) < h.opts.RenewDeadline", to: "return h.holding",
			in: lease, tests: "^TestItDoesNotActAfterItsDeadline$",
		},
		{
			what: "lease: a replica that lost its lease takes it back without a word",
			file: "internal/lease/renew.go",
			from: "if why := h.notOurs(present); why != nil {", to: "if why := h.notOurs(present); why != nil && h.clock == nil {",
			in: lease, tests: "^TestALostLeaseIsNoticedAtTheNextRenewal$",
		},
		{
			what: "queue: a workload that fails is tried again without growing delays",
			file: "internal/workqueue/retry.go",
			from: "delay = min(FirstRetry<<before.all, LastRetry)", to: "delay = FirstRetry",
			in: queue, tests: "^TestRetriesComeLaterEachTimeUpToFiveMinutesForEver$",
		},
		{
			what: "queue: a source that changes all the time puts its workload off for ever",
			file: "internal/workqueue/queue.go",
			from: "last.Before(it.due) {", to: "last.Before(it.due) && settle < 0 {",
			in: queue, tests: "^TestABusySourceIsReconciledOncePerSettleMax$",
		},
		{
			what: "kinds: the JSON Patch of a custom kind does not test the version",
			file: "internal/kinds/custom.go",
			from: "		{Op: \"test\", Path: \"/metadata/resourceVersion\", Value: w.ResourceVersion},\n", to: "",
			in: patches, tests: "^TestVariablesOfARolloutAreSetEntryByEntry$",
		},
		{
			what: "kinds: a Deployment whose status is about an earlier template has rolled out",
			file: "internal/kinds/deployment.go",
			from: "RolledOut: o.Status.ObservedGeneration >= o.Generation && ", to: "RolledOut: ",
			in: patches, tests: "^TestAStatusOfAnEarlierTemplateEndsNoRollout$",
		},
		{
			what: "inspect: up to date, although the Pods may not be listed",
			file: "internal/inspect/conclude.go",
			from: "	case d.Action == reload.ListPods && len(a.Missing) == 0:\n		a.State,", to: "	case d.Action == reload.ListPods && len(a.Missing) == 0:\n		a.State = UpToDate\n		_,",
			in: explained, tests: "^TestFineIsOnlyWhatIsKnownToBe$",
		},
		{
			what: "stamp: a source that is not in the manifests is no error with --missing=error",
			file: "internal/stamp/cover.go",
			from: "if about.missing && o.Missing == MissingError {", to: "if about.missing && o.Missing == \"\" {",
			in: stamped, tests: "^TestGolden$",
		},
	}
}
