package report

import (
	"encoding/json"
	"strings"
)

// sink knows what a receiver expects.
type sink struct {
	// escape makes a text from others harmless: it shows as it is, notifies nobody, and links nowhere.
	escape func(text string) string
	// form is the message. Failed reports whether it is bad news.
	form func(text string, failed bool) payload
}

type payload struct {
	contentType string
	body        []byte
}

// sinkNamed returns the sink of that name. What has no form of its own gets plain text.
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

// jsonPayload takes values of ours that are made of strings, which always have a JSON form.
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
