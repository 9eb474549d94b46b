package scenarios

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The table of what differs from Reloader names a scenario for each row, and one that there is.
func TestEachDifferenceHasItsScenario(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "| What happens | With Reroll | Scenarios |\n|---|---|---|\n")
	table, _, ends := strings.Cut(table, "\n\n")
	if !found || !ends {
		t.Fatal("README.md has no such table")
	}
	rows := strings.Split(table, "\n")
	if len(rows) < 18 {
		t.Errorf("%d rows: one was taken out", len(rows))
	}
	link := regexp.MustCompile(`\[([^\]]+)\]\(([^)]+)\.txtar\)`)
	for _, row := range rows {
		named := link.FindAllStringSubmatch(row, -1)
		if len(named) == 0 {
			t.Errorf("no scenario shows: %s", row)
		}
		for _, name := range named {
			if _, err := os.Stat(name[2] + ".txtar"); err != nil || name[1] != name[2] {
				t.Errorf("%s: %v, in: %s", name[1], err, row)
			}
		}
	}
}
