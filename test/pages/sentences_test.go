package pages

import (
	"regexp"
	"strings"
	"testing"
)

// mostWords is the length of the longest sentence, outside of tables, blocks and headings.
const mostWords = 35

func TestSentencesAreShort(t *testing.T) {
	if sentence, words := longest("One two. Three `four five` six; [seven eight](nine).\n| a b c d e f g h |\n"); words != 6 {
		t.Fatalf("the longest has %d words: %s", words, sentence)
	}
	for _, page := range files(t, ".md") {
		if sentence, words := longest(read(t, page)); words > mostWords {
			t.Errorf("%s: a sentence has %d words, want %d at most: %s", page, words, mostWords, sentence)
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
