package report

import (
	"encoding/json"
	"strings"
)

// alertSink is the format in which a receiver reads alerts. Each has a file, such as alert_slack.go.
type alertSink struct {
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

// alertSinkOf returns the sink with a name, or plain text for any other name. To add a sink, add its
// name to parseSink in internal/config, too, which reads ALERT_SINK.
func alertSinkOf(sink string) alertSink {
	switch sink {
	case "slack":
		return alertSink{escapeSlack, slack}
	case "teams":
		return alertSink{escapeTeams, teams}
	case "gchat":
		return alertSink{escapeGChat, gchat}
	default:
		return alertSink{func(text string) string { return text }, raw}
	}
}

// raw is for all other sinks: plain text, without the asterisks for bold text.
func raw(text string, _ bool) payload {
	return payload{"text/plain", []byte(strings.ReplaceAll(text, "*", ""))}
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
