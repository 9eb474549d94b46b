package harness

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
)

// Version is one version of an object.
type Version struct {
	Object metav1.Object
	// Number orders all versions of all objects of a cluster.
	Number  uint64
	Deleted bool
}

// EachVersion tells every version of the objects of these kinds of resource ("pods") until the
// context ends: what is there, before it returns, and then each change, one after the other and in
// the API server's order for each resource. Lost is called when that cannot be kept any more.
func (n *Namespace) EachVersion(ctx context.Context, see func(Version), lost func(error), resources ...string) error {
	for _, resource := range resources {
		client := n.clients.typed.AppsV1().RESTClient()
		switch resource {
		case "pods", "configmaps", "secrets":
			client = n.clients.typed.CoreV1().RESTClient()
		}
		lw := cache.NewListWatchFromClient(client, resource, n.Name, fields.Everything())
		deliver := func(c change) error {
			see(Version{Object: c.object, Number: c.version, Deleted: c.deleted})
			return nil
		}
		if err := follow(ctx, lw, deliver, lost); err != nil {
			return fmt.Errorf("%s: %w", resource, err)
		}
	}
	return nil
}
