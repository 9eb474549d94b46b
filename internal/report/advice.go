package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Watching is called when a workload was opted in, with the sources that concern it. Deleted are those that are yet to be
// created.
func (r *Report) Watching(w *workload.Workload, concerns []reload.Concern) {
	r.tell(w, normal, "Watching", watchingText(w, concerns))
}

func watchingText(w *workload.Workload, concerns []reload.Concern) string {
	if len(concerns) == 0 {
		return fmt.Sprintf("Nothing is watched for this %s yet: its annotations ask for no ConfigMap or Secret that it refers to or that exists", w.Key.Kind)
	}
	var names []string
	for _, c := range concerns {
		later := ""
		switch {
		case c.Deleted && c.Source.Key.Kind.Reported():
			later = ", once a pod has mounted it"
		case c.Deleted:
			later = ", once it is created"
		}
		names = append(names, fmt.Sprintf("%s '%s' (%s%s)", c.Source.Key.Kind, c.Source.Key.Name, ruleWord(c), later))
	}
	// As many as there is room for: the sentence has to end.
	text := ""
	for most := min(len(names), maxNote/len("Secret 'x' (auto), ")); most > 0; most-- {
		text = fmt.Sprintf("A change of the content of %s rolls this %s", listed(names, most), w.Key.Kind)
		if len(text) <= maxNote {
			break
		}
	}
	return text
}

// ruleWord is by what a source was found.
func ruleWord(c reload.Concern) string {
	switch v := c.Verdict; {
	case v.Rule == policy.RuleNamed && v.Entry != c.Source.Key.Name:
		return fmt.Sprintf("%s by '%s'", v.Rule, short(v.Entry))
	case v.Rule == policy.RuleTypedAuto:
		plural := "s"
		if c.Source.Key.Kind == source.SecretProviderClass {
			plural = "es"
		}
		return fmt.Sprintf("auto for %s%s", c.Source.Key.Kind, plural)
	default:
		return v.Rule.String()
	}
}

// Missing is called when such a workload names sources that do not exist, or by an expression that fits none.
func (r *Report) Missing(w *workload.Workload, named []policy.NamedSource) {
	r.tell(w, warning, "SourceMissing", missingText(w.Key.Namespace, named))
}

func missingText(namespace string, named []policy.NamedSource) string {
	var names, expressions []string
	for _, n := range named {
		if n.Expression {
			expressions = append(expressions, fmt.Sprintf("'%s' matches no %s", short(n.Text), n.Kind))
		} else {
			names = append(names, fmt.Sprintf("%s '%s'", n.Kind, n.Text))
		}
	}
	text := ""
	if len(names) > 0 {
		text = fmt.Sprintf("Its annotations name %s, which namespace %s does not have. ", listed(names, mostMissing), namespace)
	}
	if len(expressions) > 0 {
		text += fmt.Sprintf("In namespace %s, %s. ", namespace, listed(expressions, mostMissing))
	}
	return text + "Check the spelling; when it is created, it is watched"
}

// Misused is called when somebody has written annotations that are wrong or do nothing.
func (r *Report) Misused(w *workload.Workload, problems []annotations.Problem) {
	r.tell(w, warning, annotationIgnored, sentences(problems))
}

// MisusedSource is called when somebody has written such annotations on a source.
func (r *Report) MisusedSource(src *source.Source, problems []annotations.Problem) {
	text := sentences(problems)
	r.log.Warn(text, "source", src.Key.String())
	if r.dryRun {
		return
	}
	r.events.publishAbout(&corev1.ObjectReference{
		APIVersion: src.Key.Kind.APIVersion(), Kind: src.Key.Kind.String(), Namespace: src.Key.Namespace, Name: src.Key.Name,
		UID: src.UID, ResourceVersion: src.ResourceVersion,
	}, warning, annotationIgnored, text)
}

const annotationIgnored = "AnnotationIgnored"

func sentences(problems []annotations.Problem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return strings.Join(all, ". ")
}

// tell writes an event, and a line for what is wrong. What is as it should be is no line in the log.
func (r *Report) tell(w *workload.Workload, kind, reason, text string) {
	if kind == warning {
		r.log.Warn(text, "workload", w.Key.String())
	}
	if !r.dryRun {
		r.events.publish(w, kind, reason, text)
	}
}

// mostMissing is how many of the sources that are not there are named.
const mostMissing = 10

// listed puts some of the names into a sentence, and the number of the others.
func listed(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("%d more", more))
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// short is as much as is needed to find an entry of a list again.
func short(entry string) string {
	const most = 100
	if len(entry) <= most {
		return entry
	}
	return strings.ToValidUTF8(entry[:most], "") + "…"
}
