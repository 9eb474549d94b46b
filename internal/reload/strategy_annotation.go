package reload

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// annotation marks by an annotation of the pod template that names the source that changed last.
// All tools that merge at all merge maps by key.
type annotation struct{}

func (annotation) mark(d *Decision, w *workload.Workload, secrets digest.SecretMarks, now time.Time) workload.Marking {
	last := d.Changes[len(d.Changes)-1]
	from := workload.ReloadedFrom{Source: last.Source.Key, Hash: workload.DeleteMarker, ObservedAt: now.Unix()}
	if !last.Deleted {
		from.Hash = workload.MarkHash(last.Source, secrets)
	}
	if container, ok := workload.MarkContainer(last.Uses, w.Containers, last.Verdict.Rule.WithoutReference()); ok {
		from.Containers = []string{container}
	}
	return workload.Marking{ReloadedFrom: from.JSON()}
}

func (annotation) against(w *workload.Workload, _ []Concern) string {
	// For kinds whose lists are replaced whole, a null does not remove an annotation of another
	// client.
	if w.Declared.NoAnnotations && !w.Custom {
		return "its manifest declares the annotations of the pod template to be null"
	}
	for _, key := range []string{annotations.DefaultNames().LastReloadedFrom, annotations.Rolled} {
		if owner := w.Marks.Appliers[key]; owner != "" {
			return fmt.Sprintf("annotation %s is in the manifest that %s applies", key, owner)
		}
	}
	return w.Declared.WhyReplaced()
}
