package notice

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// NotAllowed is about a workload that names sources of other namespaces, which do not exist or do not
// allow that. The text is the same for both: otherwise anybody could ask what exists there. Unwatched
// are those in namespaces that the controller does not watch.
func NotAllowed(w *workload.Workload, keys, unwatched []source.Key) Notice {
	var sentences []string
	names := func(keys []source.Key) string {
		var all []string
		for _, key := range keys {
			all = append(all, key.String())
		}
		return listed(all, mostMissing)
	}
	if len(keys) > 0 {
		sentences = append(sentences, fmt.Sprintf("No change of %s reloads this %s: it does not exist, or does not allow namespace %s. To allow it, set the annotation %s: %s there",
			names(keys), w.Key.Object(), w.Key.Namespace, annotations.AllowFromKey, w.Key.Namespace))
	}
	if len(unwatched) > 0 {
		sentences = append(sentences, fmt.Sprintf("No change of %s reloads this %s, because Reroll does not watch that namespace", names(unwatched), w.Key.Object()))
	}
	return warning(w, SourceNotAllowed, strings.Join(sentences, ". "))
}

// AskedFor is about a source that workloads of another namespace name, and that does not allow that.
func AskedFor(src *source.Source, namespace string) Notice {
	return Notice{
		About: sourceReference(src), Subject: src.Key.String(), SubjectKind: "source", Reason: SourceNotAllowed,
		Text: fmt.Sprintf("Workloads of namespace %s name this %s, which does not allow that, so no change reloads them. To allow it, add %s to the annotation %s",
			namespace, src.Key.Kind, namespace, annotations.AllowFromKey),
	}
}
