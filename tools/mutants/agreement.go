package main

import "strings"

// agreement are mutations of rules that the controller shares with the commands that explain it:
// each of them has to follow.
func agreement() []mutation {
	const verdicts, namespaces, settings, refs, uses, templateUsers, workloads = "internal/policy/verdict.go", "internal/rules/namespaces.go", "internal/rules/rules.go",
		"internal/kinds/workload_ref.go", "internal/kinds/use.go", "internal/policy/template_users.go", "internal/workload/workload.go"
	const cluster, everybody = "controller why status plan", "controller why status plan lint stamp"
	shared := func(about, file, from, to, asked string) mutation {
		return mutation{
			what: "agreement: " + about + " is no rule any more", file: file, from: from, to: to, in: controller,
			tests: "^TestTheControllerAndItsExplanationsAgree$/^" + strings.ReplaceAll(about, " ", "_") + "$", all: strings.Fields(asked),
		}
	}
	return []mutation{
		shared("excluded", verdicts, "	case policy.excluded.Has(src.Local().Signer()):", "	case policy.excluded.Has(\"/\"):", everybody),
		shared("the source is ignored", verdicts, "	case ann.Ignore:", "	case ann.Ignore && src.Name == \"\":", everybody),
		shared("selected by its labels", verdicts, "	case ann.Labels.MatchedBy(selector):", "	case false:", cluster+" stamp"),
		shared("only used keys count for all", "internal/policy/keys.go", "		return byDefault, \"--keys\"", "		return KeysAll, \"--keys\"", cluster+" stamp"),
		shared("an excluded key changes", "internal/source/keys.go", "	if _, left := slices.BinarySearch(k.without, name); left {", "	if _, left := slices.BinarySearch(k.without, name); left && name == \"\" {", "controller stamp"),
		shared("labels that are not selected", verdicts, "	case ann.Unselected:", "	case ann.Unselected && src.Name == \"\":", cluster+" lint"),
		shared("the namespace is ignored", namespaces, "	return s.NamespacesToIgnore\n", "	return nil\n", cluster),
		shared("the namespace is not selected", namespaces, "s.NamespaceSelector.Matches(known.Labels)", "known.Labels != nil", cluster),
		shared("the namespace is being deleted", namespaces, "ns.DeletionTimestamp != nil", "ns.DeletionTimestamp != nil && ns.Name == \"\"", cluster),
		shared("a tool delivers it", settings, "		return max(s.Settle, s.SettleGitOps)\n", "		return s.Settle\n", "controller why status"),
		shared("the object that makes it is rolled", workloads, "known && w.Parent.Is(uid)", "known && uid == \"\"", cluster),
		shared("a Rollout asks for it", refs, "&& kind == templateOwnerKind {", "&& kind != templateOwnerKind {", cluster+" stamp"),
		shared("what the first Rollout asks for counts", templateUsers, "return -cmp.Compare(a.Name, b.Name)", "return cmp.Compare(a.Name, b.Name)", cluster+" stamp"),
		shared("CronJobs are left alone", uses, "return k.Use != Never }", "return k.Use != Never || k.Name != \"\" }", cluster),
	}
}
