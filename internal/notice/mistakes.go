package notice

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Mistakes is about annotations of a workload that are wrong or have no effect.
func Mistakes(w *workload.Workload, mistakes []annotations.Mistake) Notice {
	return warning(w, AnnotationIgnored, sentences(mistakes))
}

// MistakesOfSource is about annotations of a source that are wrong or have no effect.
func MistakesOfSource(src *source.Source, mistakes []annotations.Mistake) Notice {
	return Notice{
		About: sourceReference(src), Subject: src.Key.String(), SubjectKind: "source",
		Reason: AnnotationIgnored, Warning: true, Text: sentences(mistakes),
	}
}

// MistakesOfNamespace is about annotations of a namespace that are wrong.
func MistakesOfNamespace(ns *corev1.Namespace, mistakes []annotations.Mistake) Notice {
	return Notice{
		About:   corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion},
		Subject: ns.Name, SubjectKind: "namespace",
		Reason: AnnotationIgnored, Warning: true, Text: sentences(mistakes),
	}
}

func sentences(mistakes []annotations.Mistake) string {
	var all strings.Builder
	for i, m := range mistakes {
		switch {
		case i == 0:
		case strings.HasSuffix(mistakes[i-1].Message, "?"):
			all.WriteString(" ")
		default:
			all.WriteString(". ")
		}
		all.WriteString(m.String())
	}
	return all.String()
}
