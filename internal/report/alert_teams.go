package report

import (
	"fmt"
	"strings"
	"unicode"
)

type teamsMessage struct {
	Text string `json:"text"`
}

// teams is the message for a webhook of Microsoft Teams.
func teams(text string, _ bool) payload { return jsonPayload(teamsMessage{text}) }

// escapeTeams writes all punctuation as character references, because Teams renders a text as
// Markdown or as HTML, and both decode them. Zero-width spaces break addresses that would become links
// after decoding.
func escapeTeams(text string) string {
	const zeroWidthSpace = "\u200b"
	var b strings.Builder
	for _, r := range strings.NewReplacer("://", ":"+zeroWidthSpace+"//", ".", "."+zeroWidthSpace).Replace(text) {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
