package annotations

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/buildinfo"
)

// The annotations for users are in the domain of Reloader, so users try them in the domain of
// Reroll.
func TestKeysInTheDomainOfReroll(t *testing.T) {
	ofNothing := func(string) bool { return false }
	names, renamed := DefaultNames(), renamedNames()
	noGuess := "does nothing; for the keys that are read, see " + buildinfo.Doc("reference/flags.md#annotations")
	for key, want := range map[string]string{
		"reroll.dev/auto":                      "does nothing. Did you mean reloader.stakater.com/auto?",
		"reroll.dev/atuo":                      "does nothing. Did you mean reloader.stakater.com/auto?",
		"reroll.dev/enabled":                   "does nothing. Did you mean reloader.stakater.com/auto?",
		"reroll.dev/Restart":                   "does nothing. Did you mean reloader.stakater.com/auto?",
		"reroll.dev/search":                    "does nothing. Did you mean reloader.stakater.com/search?",
		"reroll.dev/match":                     "does nothing. Did you mean reloader.stakater.com/match?",
		"reroll.dev/pause-period":              "does nothing. Did you mean deployment.reloader.stakater.com/pause-period?",
		"reroll.dev/reload":                    "does nothing. Did you mean configmap.reloader.stakater.com/reload or secret.reloader.stakater.com/reload?",
		"configmap.reroll.dev/reload":          "does nothing. Did you mean configmap.reloader.stakater.com/reload?",
		"secrets.reroll.dev/reload":            "does nothing. Did you mean secret.reloader.stakater.com/reload?",
		"configmaps.exclude.reroll.dev/reload": "does nothing. Did you mean configmaps.exclude.reloader.stakater.com/reload?",
		"reroll.dev/leger":                     noGuess,
		"reroll.dev/paused-at":                 noGuess,
		"x.reroll.dev/ledger":                  noGuess,
	} {
		if got, unread := names.Unread(key, ofNothing, ""); got != want || !unread {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	const two = "does nothing. Did you mean configmap.reloader.stakater.com/reload or secret.reloader.stakater.com/reload?"
	if got, unread := names.Unread("reloader.stakater.com/reload", ofNothing, ""); got != two || !unread {
		t.Errorf("of three keys: %q, want %q", got, two)
	}
	for key, want := range map[string]string{
		"reroll.dev/auto":    "does nothing. Did you mean our.company/reload?",
		"reroll.dev/unknown": noGuess,
	} {
		if got, _ := renamed.Unread(key, ofNothing, ""); got != want {
			t.Errorf("with other names, %s: %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"scroll.dev/auto", "myreroll.dev/auto", "reroll.dev.example.org/auto", "reroll.dev", "example.org/reroll.dev"} {
		if got, unread := names.Unread(key, ofNothing, ""); unread {
			t.Errorf("%s: %q", key, got)
		}
	}
	renamed.Ignore = "reroll.dev/ignore"
	if got, unread := renamed.Unread("reroll.dev/ignore", ofNothing, ""); unread {
		t.Errorf("a flag has that name: %q", got)
	}
}

// Each key of our domain that the code names is known, wherever it is written.
func TestOwnKeysAreKnown(t *testing.T) {
	names, found := DefaultNames(), map[string]bool{}
	literal := regexp.MustCompile(`\breroll\.dev/([a-z-]+)`)
	code := os.DirFS("..")
	err := fs.WalkDir(code, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(code, path)
		for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
			if match[1] != "v" { // the version of documents, not a key
				found[match[0]] = true
			}
		}
		return err
	})
	if err != nil || len(found) < 11 {
		t.Fatalf("%v, %v", found, err)
	}
	for _, key := range Fixed() {
		found[key] = true
	}
	delete(found, AutoOfNamespace) // on other objects, it is a misspelling of Names.Auto
	for key := range found {
		if why, unread := names.Unread(key, names.IsOfSource, ""); unread {
			t.Errorf("%s: %s", key, why)
		}
		if right, near := names.Nearest(key); near {
			t.Errorf("%s is taken for %s", key, right)
		}
	}
}
