package inspect

import (
	"fmt"
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Mistaken is a workload that is not opted in and whose annotations have mistakes.
type Mistaken struct {
	Key   workload.Key
	Texts []string
}

// mistaken returns the workloads that a mistake may have kept from being opted in. If only is true,
// it checks no others than those of keys.
func (o *Objects) mistaken(only bool, keys []workload.Key) []Mistaken {
	var all []Mistaken
	for key, w := range o.all("") {
		_, owned := o.parentOf(key)
		mistakes := o.mistakesOf(&w)
		if len(mistakes) == 0 || owned || w.Deleting || only && !slices.Contains(keys, key) || o.policyOf(key).OptedIn(o.settings.Rules.AutoReloadAll) {
			continue
		}
		m := Mistaken{Key: key}
		for _, mistake := range mistakes {
			m.Texts = append(m.Texts, oneLine(mistake.String()))
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Mistaken) int { return workload.CompareKeys(a.Key, b.Key) })
	return all
}

// mostMistaken is the largest number of workloads whose mistakes status prints. lint prints all.
const mostMistaken = 3

func (s *Status) mistakes(p *pageText) {
	for i, m := range s.Mistaken {
		if i == mostMistaken {
			where := "-n " + s.Namespace
			if s.Namespace == "" {
				where = "-A"
			}
			p.paragraph(fmt.Sprintf("%s more with such mistakes. To list all: reroll lint %s", counted(int64(len(s.Mistaken)-i), "workload"), where))
			return
		}
		for _, text := range m.Texts {
			p.paragraph(fmt.Sprintf("Not opted in: %s: %s", m.Key, text))
		}
	}
}
