package notice

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Misused is about annotations of a workload that are wrong or have no effect.
func Misused(w *workload.Workload, problems []annotations.Problem) Notice {
	return warning(w, AnnotationIgnored, sentences(problems))
}

// MisusedSource is about annotations of a source that are wrong or have no effect.
func MisusedSource(src *source.Source, problems []annotations.Problem) Notice {
	return Notice{
		About: sourceReference(src), Subject: src.Key.String(), SubjectKind: "source",
		Reason: AnnotationIgnored, Warning: true, Text: sentences(problems),
	}
}

// MisusedNamespace is about annotations of a namespace that are wrong.
func MisusedNamespace(ns *corev1.Namespace, problems []annotations.Problem) Notice {
	return Notice{
		About:   corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: ns.Name, UID: ns.UID, ResourceVersion: ns.ResourceVersion},
		Subject: ns.Name, SubjectKind: "namespace",
		Reason: AnnotationIgnored, Warning: true, Text: sentences(problems),
	}
}

func sentences(problems []annotations.Problem) string {
	var all strings.Builder
	for i, p := range problems {
		switch {
		case i == 0:
		case strings.HasSuffix(problems[i-1].Message, "?"):
			all.WriteString(" ")
		default:
			all.WriteString(". ")
		}
		all.WriteString(p.String())
	}
	return all.String()
}
