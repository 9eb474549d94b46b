package main

// trustBundles are mutations of what becomes of ClusterTrustBundles.
func trustBundles() []mutation {
	const bundle, united, unions, index = "internal/source/trustbundle.go", "internal/source/trustbundle_union.go", "internal/state/unions.go", "internal/state/index.go"
	const sources, feed = "internal/state/sources.go", "internal/controller/trustbundles.go"
	const ofState, ofSource = "Union|Bundle|Snapshot", "Bundle|Union"
	return []mutation{
		{
			what: "bundles: the order of the certificates counts",
			file: bundle,
			from: "	return slices.Compact(all)\n", to: "	return all\n",
			in: "./internal/source", tests: ofSource,
		},
		{
			what: "bundles: the time of a union is that of its certificates alone",
			file: united,
			from: "united.Writer = b.Bundle.Written, b.Writer", to: "united.Writer = b.DataTime, b.Writer",
			in: "./internal/source", tests: ofSource,
		},
		{
			what: "bundles: a union is ignored if one of its bundles is",
			file: united,
			from: "a.Ignore && b.Annotations.Ignore", to: "a.Ignore || b.Annotations.Ignore",
			in: "./internal/source", tests: ofSource,
		},
		{
			what: "bundles: one that leaves a union changes nothing",
			file: unions,
			from: "has(u, before) || has(u, now)", to: "has(u, now)",
			in: known, tests: ofState,
		},
		{
			what: "bundles: a change that arrived before the workload is forgotten",
			file: unions,
			from: "		if changed > since {\n			// The watch", to: "		if false {\n			// The watch",
			in: known, tests: "^TestAUnionThatChangedBeforeItsWorkloadArrived$",
		},
		{
			what: "bundles: each change that arrived before the workload is one after it",
			file: unions,
			from: "		if changed > since {\n			// The watch", to: "		if changed > 0 {\n			// The watch",
			in: known, tests: "^TestAUnionThatChangedBeforeItsWorkloadArrived$",
		},
		{
			what: "bundles: each change of a signer that arrived before the workload is one of its union",
			file: unions,
			from: "		if u.Selector.Matches(c.labels) {", to: "		if true {",
			in: known, tests: "^TestAUnion",
		},
		{
			what: "bundles: a change that arrived before the workload is forgotten after many of other bundles",
			file: unions,
			from: "	if len(changes) == maxBundleChanges {\n", to: "	if false {\n",
			in: known, tests: "^TestAUnionThatChangedBeforeItsWorkloadArrived$",
		},
		{
			what: "bundles: a union may be as new as the latest event of any bundle",
			file: unions,
			from: "		if s.bundlesListed != 0 {\n", to: "		if false {\n",
			in: known, tests: "^TestAUnionIsNoNewerThanTheEventsOfItsBundles$",
		},
		{
			what: "bundles: a union is no newer than the last snapshot while another one arrives",
			file: unions,
			from: "	if !live {\n		s.bundlesListed = 0\n", to: "	if false {\n		s.bundlesListed = 0\n",
			in: known, tests: "^TestAUnionOfASnapshotThatIsNotComplete$",
		},
		{
			what: "bundles: a last bundle that left before the workload arrived is forgotten",
			file: unions,
			from: "!kept && changed > since { // its", to: "!kept && false { // its",
			in: known, tests: "^TestAUnionWhoseLastBundleLeftBeforeItsWorkloadArrived$",
		},
		{
			what: "bundles: a deleted union is kept for workloads that never had it",
			file: unions,
			from: "			s.gone.drop(key.In(\"\")) // no Pod has its data any more\n", to: "",
			in: known, tests: "^TestADeletedUnionIsForgottenWithTheLastWorkloadThatReferencesIt$",
		},
		{
			what: "bundles: each union is made from all sources",
			file: unions,
			from: "range s.index.bundles[u.Signer] {", to: "range s.index.sources[\"\"] {",
			in: known, tests: "^TestUnionsOfBundlesTakeTimeInProportion$",
		},
		{
			what: "bundles: one whose signer another bundle of its name had is not found",
			file: index,
			from: "		x.dropBundle(src.Key)\n", to: "",
			in: known, tests: ofState,
		},
		{
			what: "bundles: a template may select bundles as often as it has room",
			file: "internal/workload/bundles.go",
			from: "len(unions) <= mostUnions && size <= mostSelectors", to: "size <= 1<<20",
			in: "./internal/workload", tests: "^TestATemplateThatSelectsBundlesTooOftenUsesAllOfEachSigner$",
		},
		{
			what: "bundles: a workload with many sources does not hear of them",
			file: index,
			from: "		add(x.trying, \"\", w)\n", to: "",
			in: known, tests: ofState,
		},
		{
			what: "bundles: a snapshot is taken for the creation of a union",
			file: sources,
			from: " || key.Local().IsUnion() {\n			continue", to: " {\n			continue",
			in: known, tests: ofState,
		},
		{
			what: "bundles: the first of a snapshot is a union",
			file: sources,
			from: "live && now != before", to: "now != before",
			in: known, tests: ofState,
		},
		{
			what: "bundles: a union that only lost bundles is overtaken",
			file: sources,
			from: "&& !src.Key.Local().IsUnion() && overtaken", to: "&& overtaken",
			in: known, tests: ofState,
		},
		{
			what: "bundles: a kind that is not served any more has no objects",
			file: feed,
			from: "	p.gone = func() { c.bundles.Store(false) }\n", to: "",
			in: controller, tests: "Bundle",
		},
		{
			what: "bundles: a snapshot proves that a union is no newer than its bundles",
			file: sources,
			from: "next.seen.Version = s.unitedAt(version)", to: "next.seen.Version = version",
			in: controller, tests: "^TestABundleThatIsDeletedUnseenRollsTheUsersOfItsSigner$",
		},
		{
			what: "bundles: what is missing from the first snapshot concerns nobody",
			file: sources,
			from: "		if !s.united {\n", to: "		if false {\n",
			in: controller, tests: "^TestABundleThatIsMissingWhenTheKindIsServedIsDeleted$",
		},
		{
			what: "bundles: before they are known, all count as deleted",
			file: "internal/controller/reconcile.go",
			from: "	c.withoutBundles(facts)\n", to: "",
			in: controller, tests: "Bundle",
		},
	}
}
