package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Watching is called when a workload was opted in, with the sources that concern it.
func (r *Report) Watching(w *reload.Workload, concerns []reload.Concern) {
	r.tell(w, normal, "Watching", watchingText(w, concerns))
}

func watchingText(w *reload.Workload, concerns []reload.Concern) string {
	if len(concerns) == 0 {
		return fmt.Sprintf("Nothing is watched for this %s yet: it refers to no ConfigMap or Secret that its annotations ask for", w.Key.Kind)
	}
	var keys []reload.LocalKey
	for _, c := range concerns {
		keys = append(keys, c.Source.Key.Local())
	}
	return fmt.Sprintf("A change of the content of %s rolls this %s (%s)", listed(keys), w.Key.Kind, concerns[0].Verdict.Rule)
}

// Missing is called when such a workload names sources that do not exist.
func (r *Report) Missing(w *reload.Workload, sources []reload.LocalKey) {
	r.tell(w, warning, "SourceMissing", fmt.Sprintf("Its annotations name %s, which namespace %s does not have. Check the spelling; when it is created, it is watched",
		listed(sources), w.Key.Namespace))
}

// Misused is called when somebody has written annotations that are wrong or do nothing.
func (r *Report) Misused(w *reload.Workload, problems []reload.Problem) {
	var sentences []string
	for _, p := range problems {
		sentences = append(sentences, p.String())
	}
	r.tell(w, warning, "AnnotationIgnored", strings.Join(sentences, ". "))
}

// Misplaced is called when somebody has written an annotation on a source that belongs on a workload.
func (r *Report) Misplaced(src *reload.Source) {
	text := reload.MisplacedSentence(src.Misplaced)
	r.log.Warn(text, "source", src.Key.String())
	if r.dryRun {
		return
	}
	r.events.publishAbout(&corev1.ObjectReference{
		APIVersion: "v1", Kind: src.Key.Kind.String(), Namespace: src.Key.Namespace, Name: src.Key.Name,
		UID: src.UID, ResourceVersion: src.ResourceVersion,
	}, warning, "AnnotationIgnored", text)
}

// tell writes an event, and a line for what is wrong. What is as it should be is no line in the log.
func (r *Report) tell(w *reload.Workload, kind, reason, text string) {
	if kind == warning {
		r.log.Warn(text, "workload", w.Key.String())
	}
	if !r.dryRun {
		r.events.publish(w, kind, reason, text)
	}
}

// listed names sources in a sentence, as many as there is room for.
func listed(keys []reload.LocalKey) string {
	const most = 10
	var names []string
	for _, key := range keys[:min(len(keys), most)] {
		names = append(names, fmt.Sprintf("%s '%s'", key.Kind, key.Name))
	}
	if more := len(keys) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(slices.Clone(names[:last]), ", ") + " and " + names[last]
}
