package web

import (
	"time"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// mostFrozen is how many freezes a page shows, as many as reroll status.
const mostFrozen = 5

// first returns the begin of a list, and how many entries follow.
func first[T any](all []T, most int) (begin []T, more int) {
	begin = all[:min(len(all), most)]
	return begin, len(all) - len(begin)
}

// frozen is a freeze, with the command that ends it.
type frozen struct {
	Cluster, Namespace, Text, Thaw string
	Until                          time.Time
}

// frozen returns the freezes that a reader may see.
func (r *request) frozen(c Cluster, f *inspect.Facts) []frozen {
	var all []frozen
	for i := range f.Frozen {
		is := &f.Frozen[i]
		one := frozen{Cluster: c.Name(), Namespace: is.Namespace, Thaw: r.site.onCluster(c, is.Thaw(is.Namespace)), Until: is.Until}
		switch {
		case is.All && r.sight.may(f.Settings.Controller, "configmaps"):
			one.Text = "All namespaces: " + is.Describe(f.Now.Location())
		case is.All:
			one.Text = "The reloads of all namespaces are frozen."
		case r.sight.may(is.Namespace, "namespaces"):
			one.Text = "Namespace " + is.Namespace + ": " + is.Describe(f.Now.Location())
		default:
			continue
		}
		all = append(all, one)
	}
	return all
}
