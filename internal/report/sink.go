package report

import (
	"encoding/json"
	"strings"
)

// sink is the format of a receiver.
type sink struct {
	// escape makes a foreign text harmless: it is shown literally, notifies nobody, and links
	// nowhere.
	escape func(text string) string
	// form builds the message. Failed reports whether it is about a failure.
	form func(text string, failed bool) payload
}

type payload struct {
	contentType string
	body        []byte
}

// sinkNamed returns the sink of that name, or plain text for any other name.
func sinkNamed(name string) sink {
	switch name {
	case "slack":
		return sink{escapeSlack, slack}
	case "teams":
		return sink{escapeTeams, teams}
	case "gchat":
		return sink{escapeGChat, gchat}
	default:
		return sink{func(text string) string { return text }, raw}
	}
}

// jsonPayload marshals our own values, which consist of strings and always marshal.
func jsonPayload(v any) payload {
	body, _ := json.Marshal(v)
	return payload{"application/json", body}
}

// codeSpan shows a text as code, which chats neither format nor turn into links. They have no escape for a backtick.
func codeSpan(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "`", "'"))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
