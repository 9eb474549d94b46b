package policy_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestMistakesOfOneListAreBounded(t *testing.T) {
	const list = "a[,b[,c[,d[,e[,f[,g[,h[,i[,j[,k[,l[,ok"
	policy, mistakes := parse(values{configMapList: list}, nil)
	_, exclusions := parse(values{configMapNot: list}, nil)
	for key, got := range map[string][]annotations.Mistake{configMapList: mistakes, configMapNot: exclusions} {
		if len(got) != 11 {
			t.Fatalf("%s: got %d mistakes, want 11: %v", key, len(got), got)
		}
		want := "annotation " + key + ` has "l[": ignored, like 11 other entries of the list, of which only the first 10 are reported`
		if diff := cmp.Diff(want, got[10].String()); diff != "" {
			t.Errorf("the last mistake (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"ok"}, policy.ExactNames(source.ConfigMap)); diff != "" {
		t.Errorf("exact names (-want +got):\n%s", diff)
	}
}

// numbered is a list of n entries.
func numbered(format string, n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, format+",", i)
	}
	return list.String()
}

func TestListsAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		list           string
		exact, kept    int
		wantInMistakes string
	}{
		"thousands of names":                    {numbered("name-%d", 5000), 5000, 0, ""},
		"thousands of names with dots":          {numbered("name.%d", 5000), 0, 5000, ""},
		"more names than a list may have":       {numbered("name-%d", 51201), 5000, 0, "the list has more than 5000 entries, so this one and those after it, 46201 in all, are ignored"},
		"the longest name":                      {strings.Repeat("a", 253), 1, 0, ""},
		"a name that no object has":             {strings.Repeat("a", 254) + ",b", 1, 0, "has 254 characters, and no object has a name with more than 253"},
		"hundreds of usual expressions":         {numbered("shop-%d-.*-config", 200), 0, 200, ""},
		"more expressions than a list may have": {numbered("shop-%d-.*", 201), 0, 200, "the list has more than 200 expressions"},
		"expressions of many characters":        {numbered("a{0}"+strings.Repeat("(?:)", 800)+"%d", 9), 0, 5, "characters up to this one, may have 16384"},
		"an expression that is too complex":     {".*a[a-z]{20}b.*,app-.*", 0, 1, "too complex up to this one; write names, or repeat less"},
		"one long text":                         {strings.Repeat("a", 4096) + ".", 0, 0, "the expression has 4097 characters, must have at most 4096"},
		"a short text that repeats a lot":       {"(abcdefgh){1000}", 0, 0, "the expressions of the list take 11000 steps up to this one, may take 4096"},
		"a repetition of repetitions":           {"((a{10}bcdefgh){10}){10}", 0, 0, "may take 4096; write names, or repeat less"},
		"classes of many characters":            {`\pL\pL\pL\pL\pL\pL\pL\pL`, 0, 0, "may take 4096"},
		"expressions that are too many":         {numbered("[a-z]{100}%d", 12), 0, 10, "up to this one, may take 4096"},
		"what is refused takes none of it":      {"(abcdefgh){1000},a.*", 0, 1, "may take 4096"},
		"names after what is refused":           {"(abcdefgh){1000},b", 1, 0, "may take 4096"},
		"a repetition beyond what is allowed":   {"a{1001}", 0, 0, "not a regular expression"},
	} {
		t.Run(name, func(t *testing.T) {
			policy, mistakes := parse(values{configMapList: tc.list}, nil)
			exact, patterns := policy.ExactNames(source.ConfigMap), policy.Patterns(source.ConfigMap)
			if len(exact) != tc.exact || len(patterns) != tc.kept {
				t.Errorf("got %d names and %d expressions, want %d and %d", len(exact), len(patterns), tc.exact, tc.kept)
			}
			if len(mistakes) > 0 != (tc.wantInMistakes != "") {
				t.Fatalf("got %d mistakes", len(mistakes))
			}
			for _, mistake := range mistakes {
				if !strings.Contains(mistake.Message, tc.wantInMistakes) {
					t.Errorf("got %q, want %q in it", mistake.Message, tc.wantInMistakes)
				}
			}
		})
	}

	t.Run("no list takes much memory", func(t *testing.T) {
		for _, list := range []string{
			numbered("a%d", 40000),
			numbered("a.%d", 36000),
			numbered("[a-z]{100}%d", 10),
			numbered("shop-%d-.*-config", 200),
			"(" + strings.Repeat("abcdefgh", 4000) + "){100}",
			strings.Repeat(`\pL{1000},`, 20000),
			strings.Repeat(`\pL`, 80000),
			strings.Repeat("(a|b){1000},", 20000),
		} {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			policy, _ := parse(values{configMapList: list}, nil)
			runtime.GC()
			runtime.ReadMemStats(&after)
			if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
				t.Errorf("%.20s…: %d bytes kept", list, kept)
			}
			runtime.KeepAlive(policy)
		}
	})
}
