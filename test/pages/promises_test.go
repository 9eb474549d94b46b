package pages

import (
	"regexp"
	"strings"
	"testing"
)

// A promise is held by the tests that the page names, as long as they exist. What it says of mutants is
// checked beside these.
func TestThePromisesNameTestsThatExist(t *testing.T) {
	var tests strings.Builder
	for _, path := range files(t, ".go") {
		if strings.HasSuffix(path, "_test.go") {
			tests.WriteString(read(t, path))
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
	}
	if rows != 19 {
		t.Errorf("the page has %d promises, must have 19", rows)
	}
}
