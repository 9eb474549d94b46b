package report

import "encoding/json"

// sink gives a text the form that a receiver expects. Failed tells that it is bad news.
type sink func(text string, failed bool) payload

type payload struct {
	contentType string
	body        []byte
}

// sinkNamed returns the sink of that name. What has no form of its own gets plain text.
func sinkNamed(name string) sink {
	switch name {
	case "slack":
		return slack
	case "teams":
		return teams
	case "gchat":
		return gchat
	default:
		return raw
	}
}

// jsonPayload takes values of ours that are made of strings, which always have a JSON form.
func jsonPayload(v any) payload {
	body, _ := json.Marshal(v)
	return payload{"application/json", body}
}
