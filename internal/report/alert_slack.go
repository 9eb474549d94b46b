package report

import "strings"

type slackMessage struct {
	Attachments []slackAttachment `json:"attachments"`
}

// slackAttachment has its fields in the order in which Reloader sends them.
type slackAttachment struct {
	Author string `json:"author_name"`
	Color  string `json:"color"`
	Text   string `json:"text"`
}

// slack is the message for an incoming webhook of Slack, or of a compatible server. The color is
// the line beside the text.
func slack(text string, failed bool) payload {
	color := "good"
	if failed {
		color = "warning"
	}
	return jsonPayload(slackMessage{[]slackAttachment{{Author: "Reloader", Color: color, Text: text}}})
}

// escapeSlack escapes the three characters of mentions and links, and leaves the others to a code
// span.
func escapeSlack(text string) string {
	return codeSpan(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text))
}
