package report

type gchatMessage struct {
	Text string `json:"text"`
}

// gchat is a webhook of a space in Google Chat.
func gchat(text string, _ bool) payload { return jsonPayload(gchatMessage{text}) }
