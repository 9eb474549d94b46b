package annotations

import "fmt"

// Problem is a mistake in one annotation of an object. It affects only that annotation, or only
// that entry of a list.
type Problem struct {
	// Annotation is empty for a mistake elsewhere, which the Message describes.
	Annotation string
	// InTemplate is set when the annotation is on the pod template.
	InTemplate bool
	// Value is the refused value: the entry, if the annotation is a list.
	Value string
	// Message describes the correct value.
	Message string
}

// String returns the problem as one sentence.
func (p Problem) String() string {
	if p.Annotation == "" {
		return p.Message
	}
	where := ""
	if p.InTemplate {
		where = " of the pod template"
	}
	return fmt.Sprintf("annotation %s%s has %q: %s", p.Annotation, where, p.Value, p.Message)
}
