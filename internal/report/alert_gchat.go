package report

import "strings"

type gchatMessage struct {
	Text string `json:"text"`
}

// gchat is the message for a webhook of a Google Chat space.
func gchat(text string, _ bool) payload { return jsonPayload(gchatMessage{text}) }

// escapeGChat replaces angle brackets with similar characters. Google Chat has no escape for them,
// and uses them for mentions and links.
func escapeGChat(text string) string {
	return codeSpan(strings.NewReplacer("<", "‹", ">", "›").Replace(text))
}
