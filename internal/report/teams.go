package report

import (
	"fmt"
	"strings"
	"unicode"
)

type teamsMessage struct {
	Text string `json:"text"`
}

// teams is a webhook of Microsoft Teams.
func teams(text string, _ bool) payload { return jsonPayload(teamsMessage{text}) }

// escapeTeams writes all punctuation as character references: Teams shows a text as Markdown or as HTML, depending on who receives
// it, and both read these. The space of no width breaks an address that is made a link after they were read.
func escapeTeams(text string) string {
	const zeroWidthSpace = "\u200b"
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "://", ":"+zeroWidthSpace+"//") {
		if r < unicode.MaxASCII && (unicode.IsPunct(r) || unicode.IsSymbol(r)) {
			fmt.Fprintf(&b, "&#%d;", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
