package pages

import (
	"regexp"
	"strings"
	"testing"
)

// A promise is held by the tests and mutants that the page names, as long as they exist.
func TestThePromisesNameTestsAndMutantsThatExist(t *testing.T) {
	var tests, mutants strings.Builder
	for _, path := range files(t, ".go") {
		switch {
		case strings.HasSuffix(path, "_test.go"):
			tests.WriteString(read(t, path))
		case strings.HasPrefix(path, "tools/mutants/"):
			mutants.WriteString(read(t, path))
		}
	}
	rows := 0
	for line := range strings.Lines(read(t, "docs/contributing/promises.md")) {
		columns := strings.Split(line, "|")
		if len(columns) != 5 || strings.HasPrefix(columns[1], "-") || strings.Contains(line, "| Promise |") {
			continue
		}
		rows++
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(columns[2], -1)
		broken := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(columns[3], -1)
		if len(named) == 0 || len(broken) == 0 {
			t.Errorf("a promise without a test, or without a mutant:%s", columns[1])
		}
		for _, m := range named {
			if !strings.Contains(tests.String(), "func "+m[1]+"(t *testing.T)") {
				t.Errorf("there is no test %s", m[1])
			}
		}
		for _, m := range broken {
			// The sentences of some mutants are put together.
			about := strings.TrimSuffix(strings.TrimPrefix(m[1], "agreement: "), " is no rule any more")
			if !strings.Contains(mutants.String(), `"`+about+`"`) {
				t.Errorf("there is no mutant %q", m[1])
			}
		}
	}
	if rows != 18 {
		t.Errorf("the page has %d promises, must have 18", rows)
	}
}
