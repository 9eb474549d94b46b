package notice

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// NotAllowed is about a workload that names sources of other namespaces, which do not exist or do not
// allow that. The text is the same for both: otherwise anybody could ask what exists there. Unwatched
// are those in namespaces that the controller does not watch. Grants reports whether ReferenceGrants
// count.
func NotAllowed(w *workload.Workload, keys, unwatched []source.Key, grants bool) Notice {
	var sentences []string
	names := func(keys []source.Key) string {
		var all []string
		for _, key := range keys {
			all = append(all, key.String())
		}
		return listed(all, mostMissing)
	}
	if len(keys) > 0 {
		sentences = append(sentences, fmt.Sprintf("No change of %s reloads this %s: it does not exist, or does not allow namespace %s. To allow it, set the annotation %s: %s there%s",
			names(keys), w.Key.Object(), w.Key.Namespace, annotations.AllowFromKey, w.Key.Namespace, orGrant(w, grants)))
	}
	if len(unwatched) > 0 {
		sentences = append(sentences, fmt.Sprintf("No change of %s reloads this %s, because Reroll does not watch that namespace", names(unwatched), w.Key.Object()))
	}
	return warning(w, SourceNotAllowed, strings.Join(sentences, ". "))
}

// orGrant is the other way to allow a source.
func orGrant(w *workload.Workload, grants bool) string {
	if !grants {
		return ""
	}
	from := grant.Of(w)
	return fmt.Sprintf(", or create a ReferenceGrant from group %s, kind %s, namespace %s there", from.Group, from.Kind, from.Namespace)
}

// AskedFor is about a source that workloads of another namespace name, and that does not allow that.
// W is one of them. Grants reports whether ReferenceGrants count.
func AskedFor(src *source.Source, w *workload.Workload, grants bool) Notice {
	namespace := w.Key.Namespace
	return Notice{
		About: sourceReference(src), Subject: src.Key.String(), SubjectKind: "source", Reason: SourceNotAllowed,
		Text: fmt.Sprintf("Workloads of namespace %s name this %s, which does not allow that, so no change reloads them. To allow it, add %s to the annotation %s%s",
			namespace, src.Key.Kind, namespace, annotations.AllowFromKey, strings.TrimSuffix(orGrant(w, grants), " there")),
	}
}
