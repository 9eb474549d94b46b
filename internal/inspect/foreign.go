package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mostForeign bounds the requests for sources of other namespaces, because users control their
// number.
const mostForeign = 200

// foreign are the sources of other namespaces that workloads name, each with whether the user may
// read it; none if all namespaces are read.
type foreign map[source.Key]bool

// outside reports whether a namespace is not among those that were read as a whole.
func (o *Objects) outside(namespace string) bool {
	return o.scope != "" && namespace != "" && namespace != o.scope
}

// unwatched reports whether the controller does not watch a namespace.
func (o *Objects) unwatched(namespace string) bool {
	left := o.leavesOut(namespace)
	return left != rules.NotLeftOut && left != rules.Terminating
}

// leftOut reports whether it is unknown which data a source of another namespace has, because the
// controller or the user does not read it.
func (o *Objects) leftOut(origin source.Key) bool {
	return o.unwatched(origin.Namespace) || o.outside(origin.Namespace) && !o.foreign[origin]
}

// foreignKeys returns the sources of other namespaces that workloads name.
func (o *Objects) foreignKeys() []source.Key {
	var all []source.Key
	seen := map[source.Key]bool{}
	for key, w := range o.all(o.scope) {
		for _, local := range w.Policy.Foreign() {
			origin := local.In(key.Namespace).Origin()
			if o.outside(origin.Namespace) && !seen[origin] {
				seen[origin] = true
				all = append(all, origin)
			}
		}
	}
	slices.SortFunc(all, func(a, b source.Key) int { // the same ones each time
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), source.CompareLocalKeys(a.Local(), b.Local()))
	})
	return all[:min(len(all), mostForeign)]
}

// readForeign reads sources of other namespaces one by one.
func (c *Cluster) readForeign(ctx context.Context, keys []source.Key) (known foreign, found []runtime.Object, err error) {
	known = foreign{}
	for _, key := range keys {
		for _, k := range kubeapi.SourceKinds() {
			if k.Kind != key.Kind {
				continue
			}
			watched := k.In(key.Namespace)
			if watched.FieldSelector != "" {
				watched.FieldSelector += ","
			}
			watched.FieldSelector += "metadata.name=" + key.Name
			err := c.list(ctx, watched, func(obj runtime.Object) { found = append(found, obj) })
			if err != nil && !apierrors.IsForbidden(err) {
				return nil, nil, err
			}
			known[key] = err == nil
		}
	}
	return known, found, nil
}

// addForeign reads the sources of other namespaces that workloads name.
func (c *Cluster) addForeign(ctx context.Context, o *Objects) error {
	known, found, err := c.readForeign(ctx, o.foreignKeys())
	if err == nil {
		o.putForeign(known, found)
		err = c.addGrants(ctx, o)
	}
	return err
}

// putForeign replaces the sources of other namespaces.
func (o *Objects) putForeign(known foreign, found []runtime.Object) {
	for key := range o.foreign {
		o.deleteSource(key)
	}
	o.foreign = known
	for _, obj := range found {
		o.putSource(obj)
	}
}

// foreignSource adds to a source of another namespace what is known of it. It returns false if nothing
// else counts: a source that does not exist is shown like one that does not allow the workload.
// Granted reports whether the ReferenceGrants of its namespace are known.
func (e *Evaluation) foreignSource(s *Source, key source.Key, granted bool) bool {
	origin, consents := key.Origin(), s.Verdict.Rule != policy.RuleNoConsent
	// The labels of a namespace show only to workloads that one of its sources allows.
	s.Outside = e.objects.unwatched(origin.Namespace) && (consents || e.objects.leavesOut(origin.Namespace) != rules.NotSelected)
	if e.objects.outside(origin.Namespace) {
		s.Unread = !e.objects.foreign[origin] && !s.Ignored && !s.Outside
		_, asked := e.objects.foreign[origin]
		s.Unasked = s.Unread && !asked && len(e.objects.foreign) == mostForeign
	}
	if !consents && !s.Outside && !s.Ignored {
		e.aboutGrants(s, origin.Namespace, granted)
	}
	return consents
}

// whyForeignNot returns the reason why a source of another namespace does not roll a workload; empty
// for the general ones.
func whyForeignNot(s *Source, w workload.Key) string {
	key := s.Key.In(w.Namespace)
	switch {
	case !key.IsForeign():
		return ""
	case s.Outside:
		return "the controller does not watch namespace " + key.Origin().Namespace
	case s.Unasked:
		return fmt.Sprintf("it was not read, because the workloads of namespace %s name more than %d sources of other namespaces", w.Namespace, mostForeign)
	case s.Unread && !s.Ungranted:
		return fmt.Sprintf("you may not list %ss in namespace %s", key.Kind, key.Origin().Namespace)
	default:
		return s.Grants
	}
}
