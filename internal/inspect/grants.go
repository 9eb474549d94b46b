package inspect

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// grants are the ReferenceGrants of the namespaces that workloads name.
type grants struct {
	sets map[string]*grant.Set
	// known are the namespaces whose ReferenceGrants are known, the empty one for all. Absent reports
	// whether the API server serves none.
	known  []string
	absent bool
}

// readGrants reads the ReferenceGrants of all namespaces, or of those of some sources. It returns nil
// if they do not count.
func (c *Cluster) readGrants(ctx context.Context, o *Objects, keys []source.Key) (*grants, error) {
	if !o.settings.Rules.ReferenceGrants {
		return nil, nil
	}
	read := &grants{sets: map[string]*grant.Set{}}
	if is, err := c.serves(ctx, kubeapi.ReferenceGrants("")); err == nil && !is {
		read.known, read.absent = []string{""}, true
		return read, nil
	}
	namespaces := []string{""}
	if o.scope != "" {
		namespaces = nil
	}
	for _, key := range keys {
		if o.scope != "" && !slices.Contains(namespaces, key.Namespace) {
			namespaces = append(namespaces, key.Namespace)
		}
	}
	for _, ns := range namespaces {
		switch err := c.list(ctx, kubeapi.ReferenceGrants(ns), read.put); {
		case err == nil:
			read.known = append(read.known, ns)
		case apierrors.IsNotFound(err):
			read.known, read.absent = append(read.known, ns), true
		case !apierrors.IsForbidden(err):
			return nil, err
		}
	}
	return read, nil
}

func (g *grants) put(obj runtime.Object) {
	one, ok := kubeapi.ReadReferenceGrant(obj)
	if head, named := obj.(metav1.Object); ok && named {
		ns := head.GetNamespace()
		g.sets[ns], _ = g.sets[ns].With(head.GetName(), one)
	}
}

// putGrant adds a ReferenceGrant of manifests. It returns false for another object.
func (o *Objects) putGrant(obj runtime.Object) bool {
	_, ok := kubeapi.ReadReferenceGrant(obj)
	if ok && o.grants != nil {
		o.grants.put(obj)
	}
	return ok
}

// mayBeGranted reports whether a ReferenceGrant of manifests allows a source of another namespace, but
// counts only with a flag that the controller may have.
func (o *Objects) mayBeGranted(w *workload.Workload, key source.Key) bool {
	if o.settings.Rules.ReferenceGrants {
		return false
	}
	origin := key.Origin()
	_, allows := o.grants.sets[origin.Namespace].Allows(grant.Of(w), origin.Local())
	return allows
}

// addGrants reads the ReferenceGrants that count.
func (c *Cluster) addGrants(ctx context.Context, o *Objects) error {
	read, err := c.readGrants(ctx, o, o.foreignKeys())
	if err == nil {
		o.putGrants(read)
	}
	return err
}

// putGrants replaces the ReferenceGrants.
func (o *Objects) putGrants(read *grants) {
	if o.grants = read; read != nil && o.live != nil {
		o.live.state.SetGrants(read.sets, read.known)
	}
}

// consents adds the consent of ReferenceGrants to a source of another namespace, and reports whether
// they are known.
func (e *Evaluation) consents(key source.Key, w *workload.Workload, src *source.Source) (known bool) {
	if !key.IsForeign() {
		return true
	}
	consents, known := e.state.Consents(key.Origin(), w)
	if consents {
		src.Annotations.AllowFrom = annotations.AllowOnly(w.Key.Namespace)
	}
	return known
}

// aboutGrants explains why no ReferenceGrant allows a source, if they count.
func (e *Evaluation) aboutGrants(s *Source, namespace string, known bool) {
	switch {
	case !e.objects.settings.Rules.ReferenceGrants:
	case !known:
		s.Unread, s.Ungranted = true, true
		s.Grants = "it is unknown which ReferenceGrants are in namespace " + namespace
		if g := e.objects.grants; g != nil {
			s.Grants = fmt.Sprintf("you may not list ReferenceGrants in namespace %s, and one of them may allow it", namespace)
		}
	default:
		s.Grants = fmt.Sprintf("the source does not exist, or neither its %s nor a ReferenceGrant allows this workload", annotations.AllowFromKey)
		if g := e.objects.grants; g != nil && g.absent {
			s.Grants += "; the API server does not serve ReferenceGrants"
		}
	}
}
