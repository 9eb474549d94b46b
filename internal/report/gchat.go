package report

import "strings"

type gchatMessage struct {
	Text string `json:"text"`
}

// gchat is a webhook of a space in Google Chat.
func gchat(text string, _ bool) payload { return jsonPayload(gchatMessage{text}) }

// escapeGChat replaces angle brackets with characters that look like them. Google Chat has no escape for them, and makes mentions
// and links of them.
func escapeGChat(text string) string {
	return codeSpan(strings.NewReplacer("<", "‹", ">", "›").Replace(text))
}
