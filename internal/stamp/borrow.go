package stamp

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// borrower is a Rollout without a pod template of its own: it names the Deployment that has it, and that one gets the stamp.
// What the Rollout asks for counts before what the Deployment does, as the controller has it.
type borrower struct {
	about  string
	line   int
	lender lender
	name   string
	policy policy.Policy
}

// lender is a Deployment of apps.
type lender struct{ ns, name string }

// borrows returns nil for whatever has a pod template of its own.
func (o *Options) borrows(obj *object) (*borrower, []told) {
	ref := get(obj.node, "spec", "workloadRef")
	name := text(get(ref, "name"))
	if obj.group != "argoproj.io" || obj.kind != "Rollout" || name == "" {
		return nil, nil
	}
	template := get(obj.node, "spec", "template", "metadata", "annotations")
	w := workload.Workload{}
	w.Policy, w.Problems = o.annotated(obj, template)
	group, _, _ := strings.Cut(text(get(ref, "apiVersion")), "/")
	kind := text(get(ref, "kind"))
	lends := group == "apps" && kind == "Deployment"
	if !lends {
		kind += " of " + cmp.Or(text(get(ref, "apiVersion")), "no apiVersion")
	}
	w.Borrow(workload.Key{Kind: kind, Namespace: obj.ns, Name: name}, lends, o.Names)
	if o.All {
		w.OptAllIn()
	}
	problems := toldOf(obj, template, w.Problems)
	if !lends {
		return nil, problems
	}
	return &borrower{about: obj.String(), line: obj.node.Line, lender: lender{obj.ns, name}, name: obj.name, policy: w.Policy}, problems
}

// lend reads workloads again where a Rollout asks for a stamp on one of them, or for none. Which ones that are is not known
// before everything is read.
func (s *Stream) lend(failed []error) {
	s.options.lent = map[lender][]*borrower{}
	for _, d := range s.documents {
		for _, b := range d.borrowers {
			s.options.lent[b.lender] = append(s.options.lent[b.lender], b)
		}
	}
	if len(s.options.lent) == 0 || errors.Join(failed...) != nil {
		return
	}
	for _, all := range s.options.lent {
		slices.SortStableFunc(all, func(a, b *borrower) int { return cmp.Compare(a.name, b.name) })
	}
	again := s.each(func(_ int, d *document) error {
		if len(d.found) == 0 && !d.passed {
			return nil
		}
		d.found, d.passed, d.told, d.borrowers = nil, false, nil, nil
		_, err := s.options.read(d)
		return err
	})
	copy(failed, again)
	left := maps.Clone(s.options.lent)
	for _, d := range s.documents {
		for _, l := range d.lends {
			delete(left, l)
		}
	}
	for _, d := range s.documents {
		for _, b := range d.borrowers {
			if left[b.lender] != nil && b.policy.OptedIn(s.options.All) {
				d.told = append(d.told, told{b.line, b.about + ": " + called("Deployment", source.Key{Namespace: b.lender.ns, Name: b.lender.name}) +
					", which has its pod template, is not in these manifests, so it is not stamped"})
			}
		}
	}
}

// lentPolicy is what a Deployment and its borrowers ask for: the first of them by name counts before the others.
func (o *Options) lentPolicy(d *document, obj *object, policy policy.Policy) policy.Policy {
	if obj.group != "apps" || obj.kind != "Deployment" {
		return policy
	}
	is := lender{obj.ns, obj.name}
	for _, b := range slices.Backward(o.lent[is]) {
		policy = b.policy.Over(policy)
	}
	d.lends = append(d.lends, is)
	return policy
}
