// Package pages checks what the pages refer to, and what refers to the pages: no cluster is needed
// for that.
package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// root is the root of the repository.
const root = "../.."

// files returns all files below root with one of the endings, by their paths from there.
func files(t *testing.T, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		if !entry.IsDir() && slices.Contains(endings, filepath.Ext(path)) {
			rel, err := filepath.Rel(root, path)
			found = append(found, rel)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// withoutBlocks is a page without its fenced blocks, in which nothing is a link or a heading.
func withoutBlocks(text string) string {
	var lines []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// anchors are the headings of a page as the forge makes addresses of them.
func anchors(text string) []string {
	var found []string
	for line := range strings.Lines(withoutBlocks(text)) {
		hashes, heading, isHeading := strings.Cut(strings.TrimSpace(line), " ")
		if !isHeading || hashes == "" || strings.Trim(hashes, "#") != "" {
			continue
		}
		found = append(found, slug(heading))
	}
	return found
}

func slug(heading string) string {
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// check reports a target that does not exist, or a page without the anchor.
func check(t *testing.T, from, target, anchor string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		t.Errorf("%s refers to %s, which does not exist", from, target)
		return
	}
	if anchor != "" && filepath.Ext(target) == ".md" && !slices.Contains(anchors(read(t, target)), anchor) {
		t.Errorf("%s refers to %s#%s, and no heading there has this anchor", from, target, anchor)
	}
}

func TestEveryLinkOfAPageLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, page := range files(t, ".md") {
		for _, found := range link.FindAllStringSubmatch(withoutBlocks(read(t, page)), -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			target, anchor, _ := strings.Cut(found[1], "#")
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			check(t, page, path, anchor)
		}
	}
}

// Events, errors, notes, alert rules and comments refer to pages by their paths from the root.
func TestWhatRefersToAPageFindsIt(t *testing.T) {
	mention := regexp.MustCompile(`(?:^|[^\w/.-]|blob/main/)(docs/[a-z0-9/-]+\.(?:md|svg))(?:#([a-z0-9-]+))?`)
	for _, file := range files(t, ".go", ".md", ".txt", ".txtar", ".yaml", ".json", ".sh", ".tpl") {
		for _, found := range mention.FindAllStringSubmatch(read(t, file), -1) {
			check(t, file, found[1], found[2])
		}
	}
}

// A page that no other page links to is found by nobody.
func TestEveryPageIsLinked(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+)`)
	linked := map[string]bool{}
	for _, page := range files(t, ".md") {
		for _, found := range link.FindAllStringSubmatch(withoutBlocks(read(t, page)), -1) {
			target := filepath.Join(filepath.Dir(page), found[1])
			linked[target] = linked[target] || target != page
		}
	}
	for _, page := range files(t, ".md") {
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/adr/") && !linked[page] {
			t.Errorf("no page links to %s", page)
		}
	}
}

func TestSlug(t *testing.T) {
	for heading, want := range map[string]string{
		"`reroll why`": "reroll-why",
		"Undecided":    "undecided",
		"A sync that fails when pods do not follow": "a-sync-that-fails-when-pods-do-not-follow",
		"Rollouts without a controller: `stamp`":    "rollouts-without-a-controller-stamp",
		"See [the page](x.md), and more":            "see-the-page-and-more",
		"`--is-Argo-Rollouts`":                      "--is-argo-rollouts",
	} {
		if got := slug(heading); got != want {
			t.Errorf("the anchor of %q is %q, and has to be %q", heading, got, want)
		}
	}
}
