package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// schema is a part of the schema of the values.
type schema struct {
	Title, Description, Pattern string
	Examples                    []any
	Enum                        []any
	Items                       *schema
	Properties, Definitions     map[string]*schema
}

func schemaOfTheValues(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	s := &schema{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return s
}

// each calls a function for a part of a schema and all that are below it.
func (s *schema) each(path string, do func(path string, s *schema)) {
	if s == nil {
		return
	}
	do(path, s)
	s.Items.each(path+"[]", do)
	for _, below := range []map[string]*schema{s.Properties, s.Definitions} {
		for key, one := range below {
			one.each(path+"/"+key, do)
		}
	}
}

// An editor shows the title, the description and the examples. Helm shows the pattern alone.
func TestEveryPatternOfTheSchemaHasAnExplanationAndExamplesThatFit(t *testing.T) {
	found := 0
	schemaOfTheValues(t).each("", func(path string, s *schema) {
		if s.Pattern == "" {
			return
		}
		found++
		pattern, err := regexp.Compile(s.Pattern)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if s.Title == "" || s.Description == "" || len(s.Examples) == 0 {
			t.Errorf("%s: the pattern %s has the title %q, the description %q and the examples %v", path, s.Pattern, s.Title, s.Description, s.Examples)
		}
		for _, example := range s.Examples {
			if text, is := example.(string); !is || !pattern.MatchString(text) {
				t.Errorf("%s: the example %v does not fit %s", path, example, s.Pattern)
			}
		}
	})
	if found == 0 {
		t.Error("no pattern was found")
	}
}

func TestTheAlertsThatCanBeExcludedAreThoseOfTheRules(t *testing.T) {
	var named []string
	for _, name := range schemaOfTheValues(t).Properties["reloader"].Properties["prometheusRule"].Properties["disabled"].Items.Enum {
		named = append(named, name.(string))
	}
	rendered, err := template(t, release, "reloader: {prometheusRule: {enabled: true}}")
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, match := range regexp.MustCompile(`(?m)alert: (\w+)$`).FindAllStringSubmatch(rendered, -1) {
		rules = append(rules, match[1])
	}
	slices.Sort(rules)
	if diff := cmp.Diff(rules, named); diff != "" {
		t.Errorf("reloader.prometheusRule.disabled (-the rules +the schema):\n%s", diff)
	}
}
