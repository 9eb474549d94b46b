package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each mutant that the page names beside a promise turns a test red that the page names, too.
func TestEachPromiseNamesTheTestsOfItsMutants(t *testing.T) {
	t.Chdir("../..")
	page, err := os.ReadFile("docs/contributing/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	all, promises := mutations(), 0
	sentence, test := regexp.MustCompile(`"([^"]+)"`), regexp.MustCompile("`(Test\\w+)`")
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(line, "|")
		if len(columns) != 5 {
			continue
		}
		mutants := sentence.FindAllStringSubmatch(columns[3], -1)
		for _, named := range mutants {
			i := slices.IndexFunc(all, func(m mutation) bool { return m.isNamed(named[1]) })
			if i < 0 {
				t.Errorf("there is no mutant %q", named[1])
				continue
			}
			top, _, _ := strings.Cut(all[i].tests, "/")
			red := regexp.MustCompile(top)
			if !slices.ContainsFunc(test.FindAllStringSubmatch(columns[2], -1), func(name []string) bool { return red.MatchString(name[1]) }) {
				t.Errorf("%s: no test in the row turns red with the mutant %q, but %s", strings.TrimSpace(columns[1]), named[1], all[i].tests)
			}
		}
		if len(mutants) > 0 {
			promises++
		}
	}
	if promises < 19 {
		t.Errorf("the page has %d promises with mutants, must have 19", promises)
	}
}

// isNamed reports whether a sentence is that of a mutation. It need not begin with what it is about.
func (m mutation) isNamed(sentence string) bool {
	_, short, _ := strings.Cut(m.what, ": ")
	return m.what == sentence || short == sentence
}
