package main

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/annotations"
)

const annotationsHead = `
## Annotations

Reroll reads those with "By users", and writes the others. A flag in the last column renames the
key; the others have fixed names. [Annotations](annotations.md) describes how they work together.

| Annotation | On | Meaning | Renamed by |
|---|---|---|---|
`

// annotation is what is said of a key.
type annotation struct{ on, what string }

const (
	onWorkload = "workload, or its pod template"
	onSource   = "ConfigMap, Secret, SecretProviderClass or ClusterTrustBundle"
)

// annotations are said of the fields of annotations.Names.
func described() map[string]annotation {
	return map[string]annotation{
		"ConfigMap":           {onWorkload, "By users: names of ConfigMaps whose changes roll it, or regular expressions, separated by commas"},
		"Secret":              {onWorkload, "By users: names of Secrets, or regular expressions"},
		"SecretProviderClass": {onWorkload, "By users: names of SecretProviderClasses, or regular expressions"},
		"ConfigMapExclude":    {onWorkload, "By users: names of ConfigMaps whose changes do not roll it"},
		"SecretExclude":       {onWorkload, "By users: names of Secrets whose changes do not roll it"},
		"SPCExclude":          {onWorkload, "By users: names of SecretProviderClasses whose changes do not roll it"},
		"Auto":                {onWorkload, "By users: `true` opts it in for all sources that it references, `false` opts it out"},
		"ConfigMapAuto":       {onWorkload, "By users: `auto` for ConfigMaps only"},
		"SecretAuto":          {onWorkload, "By users: `auto` for Secrets only"},
		"SPCAuto":             {onWorkload, "By users: `auto` for SecretProviderClasses only"},
		"Search":              {onWorkload, "By users: `true` opts it in for the sources that it references and that have the match annotation"},
		"Match":               {onSource, "By users: with `true`, it rolls workloads that have the search annotation"},
		"Ignore":              {onSource, "By users: with `true`, it rolls nothing"},
		"RolloutStrategy":     {"Argo Rollout, or its pod template", "By users: `rollout` or `restart`"},
		"PausePeriod":         {"Deployment, or its pod template", "By users: how long to pause it after a change, such as `5m`"},
		"PausedAt":            {"Deployment", "Time at which Reroll paused it"},
		"LastReloadedFrom":    {"pod template", "The mark of a reload, if that is not a variable"},
	}
}

// others are keys that are no field of it.
func others() []row {
	return []row{
		{annotations.ExcludeTrustBundles, annotation{onWorkload, "By users: names of ClusterTrustBundles, or of their signers, whose changes do not roll it: [trust bundles](../how-to/trust-bundles.md)"}},
		{annotations.Settle, annotation{onWorkload + ", or namespace", "By users: the settle period of a workload, such as `10s`"}},
		{annotations.AutoOfNamespace, annotation{"namespace", "By users: `true` opts in its workloads, `false` opts them out, unless they set `auto`: [defaults](../how-to/select-workloads.md#set-defaults-for-a-namespace)"}},
		{annotations.Sources, annotation{onWorkload, "By users: a label selector for sources, such as `plugins=grafana`: [sources by label](../how-to/select-workloads.md#select-sources-by-label)"}},
		{annotations.AllowFromKey, annotation{"ConfigMap or Secret", "By users: namespaces whose workloads may name it, such as `shop,team-*`: [sources of other namespaces](../how-to/select-workloads.md#use-a-source-of-another-namespace)"}},
		{annotations.Mode, annotation{onWorkload + ", or namespace", "By users: `reload`, or `notify` to [only notify](../how-to/notify.md)"}},
		{annotations.Keys, annotation{onWorkload + ", or namespace", "By users: `used` counts only the keys that the pod template uses, `all` counts all; on a workload also a list such as `configmap/app=level,!comment`: [keys](../how-to/count-keys.md)"}},
		{annotations.Churn, annotation{"workload or its pod template, or namespace", "By users: how often Reroll reloads a workload, such as `60/1h`: [limit](../how-to/limit-reloads.md)"}},
		{annotations.Approval, annotation{"workload or its pod template, namespace, or " + onSource, "By users: `required` makes reloads wait until a user approves them: [approval](../how-to/approve-reloads.md)"}},
		{annotations.Approved, annotation{"workload, or " + onSource, "By `reroll approve`: the digest of the data that a user approved: [approval](../how-to/approve-reloads.md)"}},
		{annotations.Window, annotation{"workload or its pod template, namespace, or " + onSource, "By users: when reloads may start, such as `allow 22:00-04:00 mon-fri Europe/Berlin`: [windows](../how-to/when-reloads-happen.md)"}},
		{annotations.Freeze, annotation{"namespace, or ConfigMap `reloader-meta-info`", "Written by `reroll freeze`: when reloads may start again, who wrote it, and why: [freeze](../how-to/freeze-reloads.md)"}},
		{annotations.Wave, annotation{onWorkload, "By users: an integer, 0 by default. Workloads of a lower wave are rolled first: [waves](../how-to/roll-in-waves.md)"}},
		{annotations.MaxRolling, annotation{onSource + ", or namespace", "By users: how many of its workloads may roll at the same time, such as `5` or `10%`"}},
		{annotations.Soak, annotation{onSource + ", or namespace", "By users: how long a workload has to stay available before others are rolled after it, such as `5m`"}},
		{annotations.MaxFailures, annotation{onSource + ", or namespace", "By users: how many workloads may fail before no further one is rolled"}},
		{annotations.Urgent, annotation{onSource, "By users: with `true`, its changes wait for no other workload"}},
		{annotations.Resumed, annotation{onSource, "Written by `reroll resume`: the digest of the data for which failures no longer count. On the ConfigMap `reloader-meta-info`: the time until which [failed reloads](../how-to/halt-reloads.md) no longer count"}},
		{annotations.Ledger, annotation{"workload", "Records which data its Pods last started with: [ledger](writes.md#the-ledger)"}},
		{annotations.Rolled, annotation{"pod template", "Makes the pod template differ from all previous ones, if the mark alone does not"}},
	}
}

type row struct {
	key  string
	said annotation
}

func annotationTable(flags *pflag.FlagSet) (string, error) {
	names := reflect.ValueOf(annotations.DefaultNames())
	said := described()
	var rows []row
	for i := range names.NumField() {
		field := names.Type().Field(i).Name
		about, known := said[field]
		if !known {
			return "", fmt.Errorf("nothing is said of the annotation %s, which is %s", names.Field(i), field)
		}
		delete(said, field)
		rows = append(rows, row{names.Field(i).String(), about})
	}
	for field := range said {
		return "", fmt.Errorf("something is said of %s, which is no annotation any more", field)
	}
	var b strings.Builder
	b.WriteString(annotationsHead)
	for _, r := range append(rows, others()...) {
		renamed := ""
		flags.VisitAll(func(f *pflag.Flag) {
			if f.DefValue == r.key {
				renamed = "`--" + f.Name + "`"
			}
		})
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.key, r.said.on, r.said.what, cmp.Or(renamed, "—"))
	}
	return b.String(), nil
}
