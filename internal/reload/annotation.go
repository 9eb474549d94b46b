package reload

import (
	"fmt"
	"time"
)

// annotation marks by an annotation of the pod template that names the source
// that changed last. Maps merge by key, with every tool that merges at all.
type annotation struct{}

func (annotation) mark(d *Decision, w *Workload, secrets SecretMarks, now time.Time) Marking {
	last := d.Changes[len(d.Changes)-1]
	from := ReloadedFrom{Source: last.Source.Key, Hash: DeleteMarker, ObservedAt: now.Unix()}
	if !last.Deleted {
		from.Hash = MarkHash(last.Source, secrets)
	}
	if container, ok := MarkContainer(last.Uses, w.Containers, last.Verdict.Rule == RuleNamed); ok {
		from.Containers = []string{container}
	}
	return Marking{ReloadedFrom: from.JSON()}
}

func (annotation) against(w *Workload, _ []Concern) string {
	// Where lists are replaced whole, a null removes nothing that somebody else has set.
	if w.Declared.NoAnnotations && !w.Custom {
		return "its manifest declares the annotations of the pod template to be null"
	}
	for _, key := range []string{DefaultNames().LastReloadedFrom, RolledAnnotation} {
		if owner := w.Marks.Appliers[key]; owner != "" {
			return fmt.Sprintf("annotation %s is in the manifest that %s applies", key, owner)
		}
	}
	return w.Declared.replaced()
}
