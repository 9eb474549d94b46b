package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/state"
)

// withoutGrants is what follows if ReferenceGrants may not be read.
const withoutGrants = "sources of other namespaces that need one roll nothing"

// GrantPermissions are the permissions to watch ReferenceGrants. Without them, the controller works
// for all other sources.
func GrantPermissions() []permissions.Permission {
	resource := kubeapi.ReferenceGrants("").Resource
	all := permissions.To(resource.Group, resource.Resource, "list", "watch")
	for i := range all {
		all[i].Without = withoutGrants
	}
	return all
}

// grantFeeds are empty unless ReferenceGrants count. If the API server does not serve them yet, the
// caches sync without them.
func (c *Controller) grantFeeds() []feed {
	if !c.opts.ReferenceGrants {
		return nil
	}
	var feeds []feed
	shared := &everywhere{}
	for _, ns := range c.opts.Watched() {
		watched, h := kubeapi.ReferenceGrants(ns), c.grants(ns)
		watched.FieldSelector = c.opts.FieldSelector("")
		p := &servedKind{
			kind: kinds.Kind{Title: watched.Kind + "s", Resource: watched.Resource}, namespace: ns, everywhere: shared, use: kinds.Always,
			verbs: "list, watch", without: "so " + withoutGrants,
		}
		f := c.watchWhereServed(c.feed(watched, h), h, p)
		p.barred = func() { c.enqueueAll(c.state.ForgetGrants(ns), false) }
		p.still = func() { c.enqueueAll(c.state.NoGrants(ns), false) }
		feeds = append(feeds, f)
	}
	return feeds
}

// grants receive the ReferenceGrants of a namespace, or of all.
func (c *Controller) grants(namespace string) *handler {
	crowded := map[string]bool{}
	put := func(name types.NamespacedName, g *grant.Grant, resourceVersion string, live bool) {
		concerned, tooMany := c.state.PutGrant(name, g, state.VersionOf(resourceVersion), live)
		c.enqueueAll(concerned, live)
		if tooMany && !crowded[name.Namespace] {
			crowded[name.Namespace] = true
			c.log.Warn("a namespace has too many ReferenceGrants for ConfigMaps and Secrets; only the first ones by name count",
				"namespace", name.Namespace, "most", grant.Most)
		}
	}
	h := &handler{
		put: func(obj runtime.Object, live bool) {
			g, ok := kubeapi.ReadReferenceGrant(obj)
			if meta, named := obj.(metav1.Object); ok && named {
				put(types.NamespacedName{Namespace: meta.GetNamespace(), Name: meta.GetName()}, g, meta.GetResourceVersion(), live)
			}
		},
		del: func(name types.NamespacedName, resourceVersion string) { put(name, nil, resourceVersion, true) },
	}
	h.keep = func(named map[types.NamespacedName]struct{}) {
		c.enqueueAll(c.state.KeepGrants(namespace, named, state.VersionOf(h.version)), false)
	}
	return h
}
