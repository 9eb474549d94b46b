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

"By users" are those that Reroll reads; the others it writes. Where a flag is named, it gives the key another name; the others cannot
be renamed. What they do together is in [annotations.md](annotations.md).

| Annotation | On | | Renamed by |
|---|---|---|---|
`

// annotation is what is said of a key.
type annotation struct{ on, what string }

const (
	onWorkload = "workload, or its pod template"
	onSource   = "ConfigMap, Secret or SecretProviderClass"
)

// annotations are said of the fields of annotations.Names.
func described() map[string]annotation {
	return map[string]annotation{
		"ConfigMap":           {onWorkload, "By users: names of ConfigMaps whose changes roll it, or regular expressions, separated by commas"},
		"Secret":              {onWorkload, "By users: the same for Secrets"},
		"SecretProviderClass": {onWorkload, "By users: the same for classes of the Secrets Store CSI driver"},
		"ConfigMapExclude":    {onWorkload, "By users: names of ConfigMaps whose changes do not roll it"},
		"SecretExclude":       {onWorkload, "By users: the same for Secrets"},
		"SPCExclude":          {onWorkload, "By users: the same for classes"},
		"Auto":                {onWorkload, "By users: `true` opts it in for all sources that it references, `false` opts it out"},
		"ConfigMapAuto":       {onWorkload, "By users: the same for ConfigMaps alone"},
		"SecretAuto":          {onWorkload, "By users: the same for Secrets alone"},
		"SPCAuto":             {onWorkload, "By users: the same for classes alone"},
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
		{annotations.Settle, annotation{onWorkload, "By users: its settle period, such as `10s`"}},
		{annotations.Ledger, annotation{"workload", "Records which data its Pods last started with: [writes.md](writes.md#the-ledger)"}},
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
