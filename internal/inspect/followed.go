package inspect

import (
	"iter"
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// live is where the objects are in a process that follows the cluster. There, they are in its state
// and nowhere else: a second copy of a large cluster would cost as much memory as the controller.
type live struct {
	state *state.State
	// followed reports whether Put, Delete and Keep fill the state. Otherwise the controller does,
	// which also has the runs of a workload.
	followed bool
	runs     func(workload.Key) []kinds.OwnRun
	// member is what the controller knows of a workload in waves; nil without a controller.
	member func(ns string, src *source.Source, s gate.Settings, key workload.Key) (gate.Member, bool)
}

// NewFollowed returns an empty set for a process that follows a cluster.
func NewFollowed(s *Settings) *Objects {
	o := NewObjects(s)
	o.live = &live{state: state.NewWithoutHistory(s.Rules.AutoReloadAll), followed: true}
	o.live.state.CountKeys(s.Rules.Keys)
	o.live.state.TrackChanges()
	o.grants = nil // none were read
	if s.Rules.ReferenceGrants {
		o.live.state.ReadGrants()
	}
	return o
}

// workload returns a workload, which may have no pod template of its own.
func (o *Objects) workload(key workload.Key) (workload.Workload, bool) {
	if o.live == nil {
		w, ok := o.workloads[key]
		return w, ok
	}
	if w, ok := o.live.state.Workload(key); ok {
		return w, true
	}
	return o.live.state.TemplateUser(key)
}

// all returns the workloads, at least those of a namespace.
func (o *Objects) all(ns string) iter.Seq2[workload.Key, workload.Workload] {
	if o.live == nil {
		return maps.All(o.workloads)
	}
	return func(yield func(workload.Key, workload.Workload) bool) {
		for _, key := range o.live.state.Keys(ns) {
			if w, ok := o.workload(key); ok && !yield(key, w) {
				return
			}
		}
	}
}

// source returns a source, which may be a union of bundles.
func (o *Objects) source(key source.Key) (source.Source, bool) {
	if o.live != nil {
		return o.live.state.Source(key)
	}
	key = key.Origin()
	u, united := key.Local().Union()
	if !united {
		src, there := o.sources[key]
		return src, there
	}
	var bundles []*source.Source
	for _, src := range o.sources {
		if u.Has(&src) {
			bundles = append(bundles, &src)
		}
	}
	return u.Of(bundles)
}

// sourcesIn returns the sources, at least those of a namespace.
func (o *Objects) sourcesIn(ns string) iter.Seq[source.Key] {
	if o.live == nil {
		return maps.Keys(o.sources)
	}
	return func(yield func(source.Key) bool) {
		for _, key := range o.live.state.Sources(ns) {
			if !yield(key) {
				return
			}
		}
	}
}

// namespace returns what is known of a namespace, or nil.
func (o *Objects) namespace(name string) *rules.Namespace {
	if o.live == nil || o.live.followed {
		return o.namespaces[name]
	}
	return &rules.Namespace{Terminating: o.live.state.Terminating(name), Defaults: o.live.state.Defaults(name)}
}

// leavesOut returns why the workloads of a namespace are not reconciled. The controller knows which
// namespaces are selected, and keeps no labels.
func (o *Objects) leavesOut(ns string) rules.LeftOut {
	decides := &o.settings.Rules
	if o.live == nil || o.live.followed || decides.NamespaceSelector == nil {
		return decides.LeavesOut(ns, o.namespace(ns))
	}
	all := *decides
	all.NamespaceSelector = nil
	left := all.LeavesOut(ns, o.namespace(ns))
	if (left == rules.NotLeftOut || left == rules.Terminating) && !o.live.state.Selected(ns) {
		return rules.NotSelected
	}
	return left
}

// allNamespaces returns the namespaces whose annotations set something, and perhaps others.
func (o *Objects) allNamespaces() iter.Seq2[string, *rules.Namespace] {
	if o.live == nil || o.live.followed {
		return maps.All(o.namespaces)
	}
	return func(yield func(string, *rules.Namespace) bool) {
		for name := range o.live.state.AllDefaults() {
			if !yield(name, o.namespace(name)) {
				return
			}
		}
	}
}

func (o *Objects) putNamespace(name string, known *rules.Namespace) {
	o.namespaces[name] = known
	if o.live != nil {
		o.live.state.PutNamespace(name, known.Terminating)
		o.live.state.ChangeDefaults(name, state.Defaults{Policy: known.Defaults, OptsInSince: known.OptsInSince}, 0)
	}
}

// keepNamespaces replaces the namespaces by those that were read just now.
func (o *Objects) keepNamespaces(read *Objects) {
	for name, known := range read.namespaces {
		o.putNamespace(name, known)
	}
	for name := range o.namespaces {
		if _, there := read.namespaces[name]; !there {
			o.putNamespace(name, &rules.Namespace{})
			delete(o.namespaces, name)
		}
	}
	o.noDefaults = read.noDefaults
}

// putWorkload stores a workload of a followed cluster in the state.
func (l *live) putWorkload(w workload.Workload, reads bool) {
	switch {
	case w.TemplateOwner == nil:
		l.state.DropTemplateUser(w.Key)
		l.state.PutWorkload(w, false)
	case reads:
		l.state.PutTemplateUser(w, false)
	}
}

func (l *live) deleteWorkload(key workload.Key) {
	l.state.DropTemplateUser(key)
	l.state.DeleteWorkload(key)
}

// keepLive removes the objects of a resource that are not in a complete snapshot.
func (o *Objects) keepLive(resource string, named map[types.NamespacedName]struct{}) {
	for _, kind := range o.settings.Rules.Kinds {
		if kind.Label() == resource {
			o.live.state.KeepTemplateUsers(kind.Name, "", named)
			o.live.state.KeepWorkloads(kind.Name, "", named)
		}
	}
	for _, kind := range sourceKinds() {
		if kind.Resource() == resource {
			o.live.state.KeepSources(kind, "", named, 0)
		}
	}
}
