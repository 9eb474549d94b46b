package pages

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// wrong are words that are no ordinary English in what users read, or that the vocabulary has
// another word for. Each may have a meaning that is right in one place, so each is listed as it was
// wrong.
var wrong = regexp.MustCompile(`(?i)\b(tells?|told|sa(ys|id)|speaks?( of)?|asked for|look(s|ed|ing)? (at|after)|go(es)? on (with|as|until)|went on|acts? upon|at rest|com(e|es|ing) to (its|their|an) end|quiet|gathers?|gathered|welcomes?|in step [a-z]+|tak(es?|en) (back|away)|took (back|away)|fooled|anew|ma[dk]e again|whoever|whom|counts? as none|unsure|untold|came and gone|led to|lends?|borrows?|stale|anybody|stands? (on|in|there)|other contents?|what (it|they) holds?|that could not be told|counts? no more|all of this follows|the rights? (to|of))\b`)

// textsOfUsers returns what users read, without code in backquotes and blocks: pages, forms of the
// forge, the texts of the chart, and those of the program. The latter are its help, answers, errors,
// events, log lines and metrics.
func textsOfUsers(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	quoted := regexp.MustCompile("`[^`]*`")
	for _, file := range files(t, ".md") {
		if !strings.HasPrefix(file, "docs/contributing/") && !strings.HasPrefix(file, "docs/adr/") && !strings.HasPrefix(file, "test/") && !strings.HasPrefix(file, "bench/") {
			all[file] = quoted.ReplaceAllString(withoutBlocks(read(t, file)), "``")
		}
	}
	for _, file := range files(t, ".yaml", ".yml", ".json", ".txt", ".tpl") {
		if strings.HasPrefix(file, "charts/") || strings.HasPrefix(file, "examples/") || strings.HasPrefix(file, ".github/ISSUE_TEMPLATE/") {
			all[file] = read(t, file)
		}
	}
	program(t, func(file string, node ast.Node) {
		if text := literal(node); strings.Contains(text, " ") {
			all[file] += text + "\n\n"
		}
	})
	return all
}

func TestWhatUsersReadHasTheVocabulary(t *testing.T) {
	texts := textsOfUsers(t)
	for _, file := range []string{"README.md", "CHANGELOG.md", "charts/reroll/values.yaml", "charts/reroll/templates/NOTES.txt", "internal/cli/status.go", "internal/report/metrics.go", ".github/ISSUE_TEMPLATE/bug.yaml"} {
		if texts[file] == "" {
			t.Errorf("%s was not read", file)
		}
	}
	for file, text := range texts {
		text = strings.ReplaceAll(text, "\n", " ")
		for _, at := range wrong.FindAllStringIndex(text, -1) {
			t.Errorf("%s: %q", file, text[max(0, at[0]-40):min(len(text), at[1]+40)])
		}
	}
}
