package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePageIsThatOfTheseValues(t *testing.T) {
	var now bytes.Buffer
	if err := page(&now, "../../charts/reroll/values.yaml"); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../charts/reroll/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), now.String()); diff != "" {
		t.Errorf("run make generate (-charts/reroll/README.md +the values):\n%s", diff)
	}
}

func TestTheTable(t *testing.T) {
	const values = `# About the file.

# Two
# lines, <a|b>.
first: ""

group:
  # An example: {x: y}.
  map: {}
  # It
  # is.
  shown: {a: 1}
  # A list.
  list:
    - x
    - y
  # Nothing.
  none:
# Of more.
more:
  deep:
    # 1 or 2.
    n: 1
`
	const want = "| `first` | `\"\"` | Two lines, \\<a\\|b>. |\n" +
		"| `group.map` | `{}` | An example: {x: y}. |\n" +
		"| `group.shown` | `{a: 1}` | It is. |\n" +
		"| `group.list` | `[x, y]` | A list. |\n" +
		"| `group.none` |  | Nothing. |\n" +
		"| `more` | | Of more. |\n" +
		"| `more.deep.n` | `1` | 1 or 2. |\n"
	var got bytes.Buffer
	if err := page(&got, write(t, values)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(head+want, got.String()); diff != "" {
		t.Error(diff)
	}
	err := page(&got, write(t, "# A.\na:\n  # B.\n  b: 1\n  c: 2\n"))
	if err == nil || !strings.Contains(err.Error(), "line 5: a.c has no comment") {
		t.Errorf("error: %v", err)
	}
}

func write(t *testing.T, values string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
