package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
)

// withoutTrustBundles is what follows if ClusterTrustBundles may not be read.
const withoutTrustBundles = "changes of ClusterTrustBundles roll nothing"

// TrustBundlePermissions are the permissions to watch ClusterTrustBundles. They are in no namespace,
// so a Role cannot grant them. Without them, the controller works for all other sources.
func TrustBundlePermissions() []permissions.Permission {
	resource := kubeapi.TrustBundleVersions()[0]
	all := permissions.To(resource.Group, resource.Resource, "list", "watch")
	for i := range all {
		all[i].Without = withoutTrustBundles
	}
	return all
}

// trustBundleFeeds are empty unless ClusterTrustBundles are enabled. If the API server does not serve
// them yet, the caches sync without them.
func (c *Controller) trustBundleFeeds() []feed {
	var feeds []feed
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind.ClusterScoped() && c.opts.ReadsSource(k.Kind) {
			feeds = append(feeds, c.trustBundleFeed(k))
		}
	}
	return feeds
}

func (c *Controller) trustBundleFeed(k kubeapi.SourceKind) feed {
	h := c.sources(k, "")
	h.keep = func(named map[types.NamespacedName]struct{}) {
		c.bundles.Store(true)
		c.forgetSources(k.Kind, absentFrom("", named))
		c.enqueueAll(c.state.KeepBundles(named, state.VersionOf(h.version)), false)
	}
	f := c.feed(k.In(""), h)
	p := &servedKind{
		kind: kinds.Kind{Title: k.Kind.String() + "s", Resource: k.Resource.Resource}, everywhere: &everywhere{}, use: kinds.Always,
		verbs: "list, watch", without: "so " + withoutTrustBundles,
	}
	f = c.watchWhereServed(f, h, p)
	// A kind that is served no longer is not a kind without objects: Pods keep the files that they
	// have. So the known bundles stay, and count again with the next snapshot.
	p.gone = func() { c.bundles.Store(false) }
	return f
}

// withoutBundles adds to the facts that it is unknown which ClusterTrustBundles exist.
func (c *Controller) withoutBundles(f *reload.Facts) {
	if !c.bundles.Load() && !slices.Contains(f.Unread, source.ClusterTrustBundle) {
		f.Unread = append(slices.Clone(f.Unread), source.ClusterTrustBundle)
	}
}
