package annotations

import (
	"unique"

	"github.com/reroll-dev/reroll/internal/window"
)

// ReadWindow returns the text of the windows of an object, empty if it has none. It reports an
// invalid text and returns it nevertheless: a window that cannot be read is closed. An empty one
// counts as unset, because Helm templates render that for an unset value.
func ReadWindow(from Written, report func(Mistake)) string {
	text, ok := from.Values[Window]
	if !ok {
		return ""
	}
	if text == "" {
		report(from.Mistake(Window, `has no effect; write a window such as "allow 22:00-04:00 mon-fri Europe/Berlin", or remove the annotation`))
		return ""
	}
	if _, err := window.Parse(text); err != nil {
		report(from.Mistake(Window, "cannot be read, so no reload starts: "+err.Error()))
	}
	// A text that is too long stays too long.
	return unique.Make(text[:min(len(text), window.MaxText+1)]).Value()
}
