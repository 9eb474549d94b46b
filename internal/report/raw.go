package report

import "strings"

// raw is for everything else: the text alone, without the asterisks that make words bold elsewhere.
func raw(text string, _ bool) payload {
	return payload{"text/plain", []byte(strings.ReplaceAll(text, "*", ""))}
}
