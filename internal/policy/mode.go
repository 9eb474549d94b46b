package policy

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Mode is what follows from a change.
type Mode uint8

const (
	// ModeReload reloads the workload.
	ModeReload Mode = iota
	// ModeNotify notifies that the Pods of the workload are out of date. A user rolls it.
	ModeNotify
	// ModeUnknown is the mode of an annotation with another value. The workload is not reloaded: its
	// user wants something else than the default.
	ModeUnknown
)

// setMode is a mode with the object whose annotation sets it, if any does.
type setMode struct {
	mode Mode
	on   place
}

// String returns the value of the annotation.
func (m Mode) String() string {
	switch m {
	case ModeReload:
		return "reload"
	case ModeNotify:
		return "notify"
	default:
		return "unknown"
	}
}

// ParseMode reads a mode.
func ParseMode(text string) (Mode, error) {
	for _, m := range []Mode{ModeReload, ModeNotify} {
		if text == m.String() {
			return m, nil
		}
	}
	return ModeUnknown, fmt.Errorf("write %q or %q", ModeReload, ModeNotify)
}

// Mode returns what follows from a change, and what sets that, if annotations do.
func (p *Policy) Mode() (mode Mode, setBy string, set bool) {
	return p.mode.mode, annotations.Mode + " on " + p.mode.on.String(), p.mode.on != nowhere
}

// mode reads the mode. An empty value counts as unset, because Helm templates render that for an
// unset value.
func (r *policyReader) mode(on place) setMode {
	from := r.preferred(annotations.Mode)
	text, ok := from.Values[annotations.Mode]
	if !ok {
		return setMode{}
	}
	mode, err := ParseMode(text)
	switch {
	case text == "":
		r.refuse(from, annotations.Mode, text, "has no effect; %s, or remove the annotation", err)
		return setMode{}
	case err != nil:
		r.refuse(from, annotations.Mode, text, "cannot be read, so Reroll only notifies; %s", err)
	}
	return setMode{mode, on.orTemplate(from)}
}
