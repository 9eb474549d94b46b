package reload

import (
	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// The annotations of a workload count before those of its namespace, and these before a flag.

// Churn returns how often the workload may be reloaded, and what sets that.
func (f *Facts) Churn() (limit policy.Limit, setBy string) {
	for _, p := range []*policy.Policy{&f.Workload.Policy, &f.Defaults} {
		if limit, setBy, set := p.Churn(); set {
			return limit, setBy
		}
	}
	return f.Limit, "--churn"
}

// Windows returns the text of the windows in which the workload may be reloaded, valid or not, and
// what sets them. It is empty if nothing does.
func (f *Facts) Windows() (text, setBy string) {
	for _, p := range []*policy.Policy{&f.Workload.Policy, &f.Defaults} {
		if text, setBy := p.Window(); text != "" {
			return text, setBy
		}
	}
	return f.Window, "--window"
}

// DefaultWaves are how the annotations of the namespace of a source let its workloads roll one after
// the other. A source in no namespace has no defaults.
func (f *Facts) DefaultWaves(src source.Key) annotations.Waves {
	if src.Kind.ClusterScoped() {
		return annotations.Waves{}
	}
	return f.Defaults.Waves()
}
