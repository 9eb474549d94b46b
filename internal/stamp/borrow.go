package stamp

import (
	"errors"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// borrower is a Rollout with spec.workloadRef: it uses the pod template of a Deployment, which gets
// the stamp. As in the controller, the annotations of the Rollout override those of the Deployment.
type borrower struct {
	about  string
	line   int
	lender workload.Key
	name   string
	policy policy.Policy
}

// borrows returns nil for a workload with its own pod template.
func (o *Options) borrows(obj *object, kind *kinds.Kind) (*borrower, []told) {
	ref := get(obj.node, "spec", "workloadRef")
	named := kinds.WorkloadRef{APIVersion: text(get(ref, "apiVersion")), Kind: text(get(ref, "kind")), Name: text(get(ref, "name"))}
	lender := named.TemplateOwner(obj.ns)
	if !kind.HasWorkloadRef || lender == nil {
		return nil, nil
	}
	template := get(obj.node, append(slices.Clone(kind.Template), "metadata", "annotations")...)
	w := workload.Workload{}
	w.Policy, w.Problems = o.annotated(obj, kind, template)
	w.UseTemplateOf(*lender, kinds.IsTemplateOwner(*lender), o.Names)
	if o.AutoReloadAll {
		w.OptAllIn()
	}
	problems := toldOf(obj, template, w.Problems)
	if !kinds.IsTemplateOwner(*lender) {
		return nil, problems
	}
	return &borrower{about: obj.String(), line: obj.node.Line, lender: *lender, name: obj.name, policy: w.Policy}, problems
}

// lend reads workloads again if a Rollout that uses their pod template opts in or out. These
// Rollouts are known only after everything has been read.
func (s *Stream) lend(failed []error) {
	s.options.lent = map[workload.Key][]*borrower{}
	for _, d := range s.documents {
		for _, b := range d.borrowers {
			s.options.lent[b.lender] = append(s.options.lent[b.lender], b)
		}
	}
	if len(s.options.lent) == 0 || errors.Join(failed...) != nil {
		return
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
			if left[b.lender] != nil && b.policy.OptedIn(s.options.AutoReloadAll) {
				d.told = append(d.told, told{b.line, b.about + ": " + called(b.lender.Kind, source.Key{Namespace: b.lender.Namespace, Name: b.lender.Name}) +
					", which has its pod template, is not in these manifests, so it is not stamped"})
			}
		}
	}
}

// lentPolicy returns the policy of a workload, combined with the policies of its borrowers.
func (o *Options) lentPolicy(d *document, obj *object, kind *kinds.Kind, own policy.Policy) policy.Policy {
	is := workload.Key{Kind: kind.Name, Namespace: obj.ns, Name: obj.name}
	if !kinds.IsTemplateOwner(is) {
		return own
	}
	var asking []policy.TemplateUser
	for _, b := range o.lent[is] {
		asking = append(asking, policy.TemplateUser{Name: b.name, Policy: b.policy})
	}
	d.lends = append(d.lends, is)
	return own.WithTemplateUsers(asking)
}
