// Package grant contains what ReferenceGrants of the Gateway API allow: which workloads of other
// namespaces may name which ConfigMaps and Secrets of a namespace. It does not know which of them
// exist.
package grant

import (
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// From are the workloads of a kind in a namespace.
type From struct{ Group, Kind, Namespace string }

// Of returns the group, the kind and the namespace of a workload.
func Of(w *workload.Workload) From {
	group, _, grouped := strings.Cut(w.APIVersion, "/")
	if !grouped {
		group = "" // the core group
	}
	return From{Group: group, Kind: w.Key.Object(), Namespace: w.Key.Namespace}
}

// Grant is what one ReferenceGrant allows. It is never changed. A nil Grant allows nothing.
type Grant struct {
	from []From
	// to are sources of the namespace of the ReferenceGrant. An empty name stands for all of a kind.
	to []source.LocalKey
	// created is when it was created, and at the latest time at which it can have been written, in
	// seconds since 1970; 0 if that is unknown.
	created, at uint32
}

// mostEntries bounds the entries of each list of one ReferenceGrant. The Gateway API allows no more,
// but any user who installs CustomResourceDefinitions could.
const mostEntries = 16

// Read reads the spec of a ReferenceGrant. It returns nil for one that allows no ConfigMap or Secret.
// An invalid entry allows nothing.
func Read(spec map[string]any, created, at uint32) *Grant {
	g := &Grant{created: created, at: at}
	for _, entry := range entries(spec["from"]) {
		group, grouped := entry["group"].(string)
		kind, _ := entry["kind"].(string)
		namespace, _ := entry["namespace"].(string)
		if grouped && kind != "" && namespace != "" {
			g.from = append(g.from, From{group, kind, namespace})
		}
	}
	for _, entry := range entries(spec["to"]) {
		name, named := entry["name"]
		text, valid := name.(string)
		kind, known := kindOf(entry)
		if known && (!named || valid && text != "") {
			g.to = append(g.to, source.LocalKey{Kind: kind, Name: text})
		}
	}
	if len(g.from) == 0 || len(g.to) == 0 {
		return nil
	}
	return g
}

func entries(list any) []map[string]any {
	items, _ := list.([]any)
	var all []map[string]any
	for _, item := range items[:min(len(items), mostEntries)] {
		if entry, ok := item.(map[string]any); ok {
			all = append(all, entry)
		}
	}
	return all
}

// kindOf returns the kind of the sources that an entry is about.
func kindOf(entry map[string]any) (source.Kind, bool) {
	if group, ok := entry["group"].(string); !ok || group != "" {
		return 0, false
	}
	switch entry["kind"] {
	case source.ConfigMap.String():
		return source.ConfigMap, true
	case source.Secret.String():
		return source.Secret, true
	default:
		return 0, false
	}
}

// Allows reports whether workloads may name a source of the namespace of the ReferenceGrant.
func (g *Grant) Allows(from From, src source.LocalKey) bool {
	if g == nil || !slices.Contains(g.from, from) {
		return false
	}
	return slices.ContainsFunc(g.to, func(to source.LocalKey) bool {
		return to.Kind == src.Kind && (to.Name == "" || to.Name == src.Name)
	})
}

// Equal reports whether both have the same entries.
func (g *Grant) Equal(other *Grant) bool {
	if g == nil || other == nil {
		return g == other
	}
	return slices.Equal(g.from, other.from) && slices.Equal(g.to, other.to)
}
