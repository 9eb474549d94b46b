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
	promises := 0
	for line := range strings.Lines(string(page)) {
		columns := strings.Split(line, "|")
		if len(columns) != 5 {
			continue
		}
		mutants := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(columns[3], -1)
		for _, named := range mutants {
			m, ok := withSentence(named[1])
			if !ok {
				t.Errorf("there is no mutant %q", named[1])
				continue
			}
			top, _, _ := strings.Cut(m.tests, "/")
			red := regexp.MustCompile(top)
			if !slices.ContainsFunc(regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(columns[2], -1), func(test []string) bool { return red.MatchString(test[1]) }) {
				t.Errorf("%s: no test in the row turns red with the mutant %q, but %s", strings.TrimSpace(columns[1]), named[1], m.tests)
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

// withSentence returns the mutation with a sentence, which need not begin with what it is about.
func withSentence(sentence string) (mutation, bool) {
	all := mutations()
	i := slices.IndexFunc(all, func(m mutation) bool {
		_, short, _ := strings.Cut(m.what, ": ")
		return m.what == sentence || short == sentence
	})
	if i < 0 {
		return mutation{}, false
	}
	return all[i], true
}
