package annotations

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func automatonOf(t *testing.T, text string, steps int) (*automaton, bool) {
	t.Helper()
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		t.Skip("not an expression")
	}
	return newAutomaton(tree, &steps)
}

// What matches must be what Reloader's expressions match.
func FuzzAnAutomatonMatchesAsPackageRegexpDoes(f *testing.F) {
	for _, text := range []string{
		"app-.*", ".*-config", "a|ab", "(a|ab)(c|bcd)", "[a-z]+-(x|y)?", `\bapp\b.*`, `.*\B-`, "^web$", "(?m)^a$", "(?i)WEB-[A-C]", `\Qa.b`, "a$^b", "a{2,3}", "(a*)*b",
		`\pL+`, "[^a-z]", `\.`, "(?s).", "", "x*", `\x{17f}`, "(?i)k", `a\z`, `\Ab`, "()", "(|a)+", `.*\.example\.com`, `\b`, `a\b-`, `é`,
	} {
		for _, name := range []string{"", "a", "ab", "app-1", "my-config", "web", "a.example.com", "aab", "abcd", "k", "s", "-", "a-", "app-", "1.2"} {
			f.Add(text, name)
		}
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 200 || strings.Trim(name, nameCharacters) != "" {
			t.Skip("no name")
		}
		a, ok := automatonOf(t, text, maxAutomatonSteps)
		if !ok {
			return
		}
		pattern, err := regexp.Compile(text)
		if err != nil {
			t.Skip("too large")
		}
		pattern.Longest()
		bounds := pattern.FindStringIndex(name)
		if want := bounds != nil && bounds[0] == 0 && bounds[1] == len(name); a.Matches(name) != want {
			t.Errorf("%q matches %q: %v, must be %v", text, name, !want, want)
		}
	})
}

func TestAnExpressionThatTakesTooManyStepsIsRefusedBeforeItTakesThem(t *testing.T) {
	for _, text := range []string{
		".*a.{200}",
		".*a[a-z]{12}b.*",
		"(a?){500}",
	} {
		steps := maxAutomatonSteps
		tree, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := newAutomaton(tree, &steps); ok || steps != maxAutomatonSteps {
			t.Errorf("%.30s…: built %v, with %d steps left of %d", text, ok, steps, maxAutomatonSteps)
		}
	}
	if a, ok := automatonOf(t, "(app|web)-[a-z]+-config.*", maxAutomatonSteps/100); !ok || !a.Matches("app-x-config") {
		t.Error("a usual expression takes more than a hundredth of what a list may take")
	}
}
