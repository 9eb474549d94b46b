package report

type teamsMessage struct {
	Text string `json:"text"`
}

// teams is a webhook of Microsoft Teams.
func teams(text string, _ bool) payload { return jsonPayload(teamsMessage{text}) }
