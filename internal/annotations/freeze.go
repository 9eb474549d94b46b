package annotations

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Freeze is the annotation about a time in which no reload starts. It is on a namespace, or on the
// ConfigMap reloader-meta-info for all namespaces.
const Freeze = "reroll.dev/freeze"

// MaxFreeze bounds the length of its text.
const MaxFreeze = 1000

// Frozen is a time in which no reload starts.
type Frozen struct {
	Until time.Time
	// By and Reason are for readers. Nothing proves them.
	By, Reason string
}

// frozenJSON is the text of the annotation.
type frozenJSON struct {
	Until  string `json:"until"`
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
}

var (
	errFreezeLength = fmt.Errorf("it has more than %d bytes", MaxFreeze)
	errFreeze       = errors.New(`write JSON such as {"until":"2026-11-24T12:00:00Z","by":"alice","reason":"incident 4711"}`)
)

// ParseFreeze reads the text of the annotation.
func ParseFreeze(text string) (Frozen, error) {
	if len(text) > MaxFreeze {
		return Frozen{}, errFreezeLength
	}
	var read frozenJSON
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		return Frozen{}, errFreeze
	}
	until, err := time.Parse(time.RFC3339, read.Until)
	if err != nil {
		return Frozen{}, errFreeze
	}
	return Frozen{until.UTC(), readable(read.By), readable(read.Reason)}, nil
}

// String returns the text that ParseFreeze reads.
func (f Frozen) String() string {
	text, _ := json.Marshal(frozenJSON{f.Until.UTC().Format(time.RFC3339), f.By, f.Reason}) // texts always can be
	return string(text)
}

// Says describes a freeze in a clause: by whom, and why.
func (f Frozen) Says() string {
	text := "reloads are frozen"
	if f.By != "" {
		text += " by " + f.By
	}
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

// readable is a text of a user on one line, as messages show it.
func readable(text string) string {
	oneLine := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	return Shortened(strings.TrimSpace(strings.ToValidUTF8(oneLine, "")))
}

// readFreeze returns the text of the annotation, valid or not, and reports an invalid one: a freeze
// that cannot be read holds until it is corrected. An empty text counts as unset.
func readFreeze(own map[string]string, report func(Mistake)) string {
	text, ok := own[Freeze]
	if !ok {
		return ""
	}
	if text == "" {
		report(Written{Values: own}.Mistake(Freeze, "has no effect; remove the annotation, or "+errFreeze.Error()))
		return ""
	}
	if _, err := ParseFreeze(text); err != nil {
		report(Written{Values: own}.Mistake(Freeze, "cannot be read, so no reload starts: "+err.Error()+", or remove the annotation"))
	}
	return text[:min(len(text), MaxFreeze+1)] // a text that is too long stays too long
}
