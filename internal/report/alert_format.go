package report

import (
	"encoding/json"
	"strings"
)

// alertFormat is the format in which a receiver reads alerts.
type alertFormat struct {
	// escape makes a foreign text harmless: it is shown literally, notifies nobody, and links
	// nowhere.
	escape func(text string) string
	// payload builds the message. Failed reports whether it is about a failure.
	payload func(text string, failed bool) payload
}

type payload struct {
	contentType string
	body        []byte
}

// alertFormatOf returns the format of a sink, or plain text for any other name. To add a sink, add
// its name to parseSink in internal/config, too, which reads ALERT_SINK.
func alertFormatOf(sink string) alertFormat {
	switch sink {
	case "slack":
		return alertFormat{escapeSlack, slack}
	case "teams":
		return alertFormat{escapeTeams, teams}
	case "gchat":
		return alertFormat{escapeGChat, gchat}
	default:
		return alertFormat{func(text string) string { return text }, raw}
	}
}

// jsonPayload marshals our own values, which consist of strings and always marshal.
func jsonPayload(v any) payload {
	body, _ := json.Marshal(v)
	return payload{"application/json", body}
}

// codeSpan shows a text as code, which chats neither format nor turn into links. They have no
// escape for a backtick.
func codeSpan(text string) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "`", "'"))
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
