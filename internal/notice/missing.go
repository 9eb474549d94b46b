package notice

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mostMissing is how many of the missing sources are named in a sentence, so that each sentence has
// room.
const mostMissing = 3

// Missing is about a workload that requires sources that do not exist, or has expressions that
// match none. What existed before is not a typo.
func Missing(w *workload.Workload, sources []reload.MissingSource, unmatched []policy.NamedSource) Notice {
	var sentences []string
	for _, deleted := range []bool{true, false} {
		for _, referenced := range []bool{true, false} {
			alike := missingGroup{deleted: deleted, referenced: referenced}
			for _, m := range sources {
				if m.Deleted == deleted && m.Referenced == referenced {
					alike.names = append(alike.names, m.Key.String())
					alike.reloads = alike.reloads || m.Reloads
				}
			}
			if len(alike.names) > 0 {
				sentences = append(sentences, alike.sentence(w))
			}
		}
	}
	var expressions []string
	for _, n := range unmatched {
		expressions = append(expressions, fmt.Sprintf("'%s' matches no %s", short(n.Text), n.What()))
	}
	if len(expressions) > 0 {
		sentences = append(sentences, fmt.Sprintf("In namespace %s, %s. Check the spelling, or create it: Reroll watches for it", w.Key.Namespace, listed(expressions, mostMissing)))
	}
	return warning(w, SourceMissing, strings.Join(sentences, ". "))
}

// missingGroup are sources that are missing in one way.
type missingGroup struct {
	names                        []string
	deleted, referenced, reloads bool
}

func (g *missingGroup) sentence(w *workload.Workload) string {
	do, were, they, their, them := "do", "were", "they are", "their", "them"
	if len(g.names) == 1 {
		do, were, they, their, them = "does", "was", "it is", "its", "it"
	}
	follows := fmt.Sprintf("the annotations of this %s name %s", w.Key.Kind, them)
	if g.referenced {
		follows = fmt.Sprintf("new Pods of this %s cannot start", w.Key.Kind)
	}
	names := listed(g.names, mostMissing)
	if !g.deleted {
		return fmt.Sprintf("%s %s not exist; %s. Check the spelling, or create %s: Reroll watches for %s", names, do, follows, them, them)
	}
	if g.referenced {
		follows += ", and existing Pods keep " + their + " data"
	}
	if g.reloads {
		follows += fmt.Sprintf(". If %s created with other data, Reroll reloads this %s", they, w.Key.Kind)
	}
	return fmt.Sprintf("%s %s deleted; %s", names, were, follows)
}
