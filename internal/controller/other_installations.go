package controller

import (
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/metainfo"
)

// otherInstallations are those of which this one watches the ConfigMap. They need no request: all
// ConfigMaps are watched.
type otherInstallations struct {
	mu sync.Mutex
	// byNamespace has the ID of the digest key of each.
	byNamespace map[string]string
	// byInstance is the same the other way. It is replaced and never changed, so that decisions can
	// hold it.
	byInstance map[string]string
	reported   map[string]bool
}

// noteInstallation takes notice of another installation. Anyone may write such a ConfigMap in their
// namespace. All that it can do is to delay the reloads of workloads whose ledger names the same
// key.
func (c *Controller) noteInstallation(cm *corev1.ConfigMap) {
	instance, ok := metainfo.Instance(cm)
	if cm.Namespace == c.opts.Namespace || ok && instance == c.installation.Key.ID() {
		return
	}
	if !ok {
		c.others.remove(is(types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name}))
		return
	}
	if c.others.put(cm.Namespace, instance) {
		c.log.Warn("another installation of Reroll watches the same namespaces; this one does not roll workloads that the other one adopted (run one, or separate them with --namespaces)",
			"namespace", cm.Namespace)
	}
}

// put reports whether the installation has not been reported before.
func (o *otherInstallations) put(namespace, instance string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byNamespace[namespace] != instance {
		o.byNamespace[namespace] = instance
		o.index()
	}
	known := o.reported[namespace]
	o.reported[namespace] = true
	return !known
}

// remove is for ConfigMaps that no longer exist.
func (o *otherInstallations) remove(gone func(types.NamespacedName) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := len(o.byNamespace)
	maps.DeleteFunc(o.byNamespace, func(namespace, _ string) bool {
		return gone(types.NamespacedName{Namespace: namespace, Name: metainfo.Name})
	})
	if len(o.byNamespace) != before {
		o.index()
	}
}

func (o *otherInstallations) index() {
	o.byInstance = make(map[string]string, len(o.byNamespace))
	for namespace, instance := range o.byNamespace {
		if known, twice := o.byInstance[instance]; !twice || namespace < known {
			o.byInstance[instance] = namespace
		}
	}
}

func (o *otherInstallations) known() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byInstance
}

// Instance returns the ID of the digest key. It is known when Run has loaded the key.
func (c *Controller) Instance() string { return c.installation.Key.ID() }
