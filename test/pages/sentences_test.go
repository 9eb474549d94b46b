package pages

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostWords is the length of the longest sentence, outside of tables, blocks and headings. The pages
// of contributors have longer ones.
const (
	mostWords              = 25
	mostWordsOfContributor = 35
)

func TestSentencesAreShort(t *testing.T) {
	if sentence, words := longest("One two. Three `four five` six; [seven eight](nine).\n| a b c d e f g h |\n"); words != 6 {
		t.Fatalf("the longest has %d words: %s", words, sentence)
	}
	for _, page := range files(t, ".md") {
		most := mostWords
		if page == "CHANGELOG.md" || strings.HasPrefix(page, "docs/contributing/") || strings.HasPrefix(page, "docs/adr/") || strings.HasPrefix(page, "test/") || strings.HasPrefix(page, "bench/") {
			most = mostWordsOfContributor
		}
		if sentence, words := longest(read(t, page)); words > most {
			t.Errorf("%s: a sentence has %d words, want %d at most: %s", page, words, most, sentence)
		}
	}
}

// longest returns the longest sentence of a page, and how many words it has.
func longest(text string) (sentence string, words int) {
	ends := regexp.MustCompile(`[.!?](\*\*)?(\s+|$)`)
	for _, paragraph := range paragraphs(text) {
		for _, one := range ends.Split(paragraph, -1) {
			if n := len(strings.Fields(one)); n > words {
				sentence, words = one, n
			}
		}
	}
	return sentence, words
}

// paragraphs are those of a page, and the items of its lists, without the targets of links.
func paragraphs(text string) []string {
	items, links := regexp.MustCompile(`^\s*([-*]|\d+\.)\s`), regexp.MustCompile(`\]\([^)]*\)`)
	var all []string
	next := true
	for line := range strings.Lines(withoutBlocks(text)) {
		trimmed := strings.TrimSpace(line)
		if skipped := trimmed == "" || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(line, "    "); skipped {
			next = true
			continue
		}
		if next || items.MatchString(line) {
			all = append(all, "")
		}
		next = false
		all[len(all)-1] += " " + items.ReplaceAllString(line, "")
	}
	for i := range all {
		all[i] = links.ReplaceAllString(all[i], "]")
	}
	return all
}

// widest is the number of columns at which pages wrap.
const widest = 100

// A longer line is cut in a terminal, and a diff of it shows nothing. Tables and blocks cannot wrap.
// The lines of the CHANGELOG are its entries.
func TestLinesWrap(t *testing.T) {
	if found := wide(strings.Repeat("long ", 21) + "\n| " + strings.Repeat("long ", 21) + "\n" + strings.Repeat("x", 101) + "\n"); len(found) != 1 {
		t.Fatalf("the wide lines are %q", found)
	}
	for _, page := range files(t, ".md") {
		if page == "CHANGELOG.md" {
			continue
		}
		for _, line := range wide(read(t, page)) {
			t.Errorf("%s: a line has %d columns, want %d at most: %s", page, utf8.RuneCountInString(line), widest, line)
		}
	}
}

// wide returns the lines of a page that could wrap and do not.
func wide(text string) []string {
	var found []string
	for line := range strings.Lines(withoutBlocks(text)) {
		line = strings.TrimRight(line, "\n ")
		wraps := !strings.HasPrefix(strings.TrimSpace(line), "|") && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "#")
		if wraps && utf8.RuneCountInString(line) > widest && len(strings.Fields(line)) > 1 {
			found = append(found, line)
		}
	}
	return found
}
