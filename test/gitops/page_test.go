package gitops

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const page = "../../docs/how-to/gitops.md"

// told are the rows of the table of the page by what stands in their first cell, with those that
// they sum up.
func told() map[string][]string {
	return map[string][]string{
		"Argo CD, client-side apply":                 {"Argo CD, client-side"},
		"Argo CD, `ServerSideApply=true`":            {"Argo CD, server-side"},
		"Argo CD, `Replace=true`":                    {"Argo CD, Replace=true"},
		"Argo CD, `annotations: null` in Git":        {"Argo CD, annotations null in Git"},
		"Argo CD, `env: null` in Git":                {"Argo CD, env null in Git"},
		"Flux, kustomize-controller":                 {"Flux"},
		"Helm 3; Helm 4 with `--server-side=false`":  {"Helm 3", "Helm 4, client-side"},
		"Helm 4, server-side":                        {"Helm 4, server-side"},
		"Helm 4, server-side, the mark in the chart": {"Helm 4, server-side, our annotation in the chart"},
		"`kubectl apply`":                            {"kubectl apply, client-side"},
		"`kubectl apply` of `annotations: null`":     {"kubectl apply, client-side, annotations null"},
		"`kubectl apply` of `env: null`":             {"kubectl apply, client-side, env null"},
		"`kubectl apply --server-side`":              {"kubectl apply, server-side"},
		"an operator that writes whole objects":      {"an operator that writes whole objects"},
	}
}

// inProse are told elsewhere on the page.
func inProse() []string {
	return []string{"Argo CD, Replace=true, ignoring the annotations", "Argo CD, Replace=true, some annotation, ignoring the annotations"}
}

// words are how a cell of the page begins.
func words(o outcome) string {
	switch o {
	case kept:
		return "stays"
	case withImage:
		return "stays until the chart changes the containers"
	case notedTaken:
		return "OutOfSync, then reverted"
	case refused:
		return "the next apply fails for a conflict with `reroll`"
	default:
		return "reverted"
	}
}

const (
	upTo      = "; up to Argo Rollouts 1.8: "
	onRollout = "; on a Rollout: "
	ifBare    = "; if the container has no `env`: "
)

// The table of the page says what was seen, and of everything that was.
func TestThePageSaysWhatWasSeen(t *testing.T) {
	rows := map[string]row{}
	for _, r := range table() {
		rows[r.name] = r
	}
	earlier := map[string]row{}
	for _, r := range earlierTable() {
		earlier[r.name] = r
	}
	seen := inProse()
	for _, cells := range tableOf(t, "## What each tool does") {
		names, ok := told()[cells[0]]
		if !ok {
			t.Errorf("nothing is known of %q", cells[0])
		}
		for _, name := range names {
			seen = append(seen, name)
			r, before := rows[name], earlier[name]
			if before.name == "" {
				before = r
			}
			for i, want := range []string{
				words(r.deployment.variable),
				words(r.rollout.variable) + otherwise(ifBare, r.bare.variable, r.rollout.variable) + otherwise(upTo, before.rollout.variable, r.rollout.variable),
				words(r.deployment.annotation) + otherwise(onRollout, r.rollout.annotation, r.deployment.annotation) +
					otherwise(ifBare, r.bare.annotation, r.rollout.annotation),
				words(r.deployment.ledger) + otherwise(onRollout, r.rollout.ledger, r.deployment.ledger) + otherwise(ifBare, r.bare.ledger, r.rollout.ledger) +
					otherwise("; `restartAt`: ", r.rollout.restart, r.rollout.ledger) + otherwise(ifBare, r.bare.restart, r.rollout.restart),
			} {
				if cells[i+1] != want {
					t.Errorf("%s, cell %d is %q, and what was seen is %q", cells[0], i+2, cells[i+1], want)
				}
			}
		}
	}
	for name := range rows {
		if !slices.Contains(seen, name) {
			t.Errorf("the page does not tell of %q", name)
		}
	}
}

func otherwise(clause string, o, than outcome) string {
	if o == than {
		return ""
	}
	return clause + words(o)
}

// tableOf returns the cells of the first table below a heading of the page.
func tableOf(t *testing.T, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	var rows [][]string
	for line := range strings.Lines(below) {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "|\n"), "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		rows = append(rows, cells)
	}
	if !found || len(rows) < 3 || len(rows[0]) != 5 {
		t.Fatal(fmt.Errorf("%s has no table of five columns below %q", page, heading))
	}
	return rows[2:]
}
