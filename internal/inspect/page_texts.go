package inspect

import (
	"strings"
	"time"
)

// What texts for pages have in place of those for terminals.

// ago returns how long ago a time was. A page gets the time itself, and the browser shows the age.
// Otherwise, the page would differ each second, or show an age that stands still.
func (s *Settings) ago(t, now time.Time) string {
	if s.Pages && !t.IsZero() {
		return t.UTC().Format(time.RFC3339)
	}
	return ago(t, now)
}

// on returns a command to paste, for the cluster that the text is about.
func (s *Settings) on(command string) string { return OnContext(command, s.Context) }

// OnContext returns a command for a context of the kubeconfig, which may select another one. An empty
// context leaves the command as it is.
func OnContext(command, context string) string {
	if command == "" || context == "" {
		return command
	}
	return command + " --context " + quoted(context)
}

// quoted returns a text as one word of a shell.
func quoted(text string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:@+=,", c)
	}
	if strings.IndexFunc(text, func(c rune) bool { return !plain(c) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
