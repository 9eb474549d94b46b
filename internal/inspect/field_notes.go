package inspect

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
)

// FieldNotes returns notes about fields of the pod template that are no reference to a source, or
// that this version does not know. They need a request of their own, because decoding drops such
// fields. It returns nil if the user may not get the workload.
func (c *Cluster) FieldNotes(ctx context.Context, s *Settings, w *workload.Workload) []string {
	kind, known := s.Rules.Kinds.Named(w.Key.Kind)
	if !known {
		return nil
	}
	raw, err := c.JSON(ctx, kind, w.Key)
	if err != nil {
		return nil // without them, the output has some lines less
	}
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		return nil
	}
	return fieldNotes(kind, obj)
}

func fieldNotes(kind kinds.Kind, obj map[string]any) []string {
	path := append(slices.Clone(kind.Template), "spec")
	spec, _, _ := unstructured.NestedMap(obj, path...)
	var notes []string
	for _, note := range workload.FieldNotes(spec) {
		notes = append(notes, strings.Join(path, ".")+"."+note)
	}
	return notes
}
