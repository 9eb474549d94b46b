package inspect

import (
	"time"

	"github.com/reroll-dev/reroll/internal/source"
)

// elsewhere returns the plan for the workloads of other namespaces than that of the source. A bundle
// is in none. Waves order the workloads of one namespace, so this plan has none.
func (o *Objects) elsewhere(key source.Key, pods Pods, now time.Time) *Plan {
	p := &Plan{Settings: o.settings, Source: key, Now: now}
	e := o.Evaluate(pods, now)
	for _, at := range e.state.Users(key) {
		if w, known := e.state.Workload(at); known && at.Namespace != key.Namespace && w.TemplateOwner == nil && !w.Deleting {
			e.place(p, key.SeenFrom(at.Namespace), at)
		}
	}
	p.sort()
	return p
}
