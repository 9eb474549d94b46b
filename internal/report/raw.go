package report

import "strings"

// raw is for all other sinks: plain text, without the asterisks for bold text.
func raw(text string, _ bool) payload {
	return payload{"text/plain", []byte(strings.ReplaceAll(text, "*", ""))}
}
