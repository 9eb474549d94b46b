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

// templateUser is a Rollout with spec.workloadRef: it uses the pod template of a Deployment, which
// gets the stamp. As in the controller, the annotations of the Rollout override those of the
// Deployment.
type templateUser struct {
	about  string
	line   int
	owner  workload.Key
	name   string
	policy policy.Policy
}

// templateUserOf returns nil for a workload with its own pod template.
func (o *Options) templateUserOf(obj *object, kind *kinds.Kind) (*templateUser, []warning) {
	ref := get(obj.node, "spec", "workloadRef")
	named := kinds.WorkloadRef{APIVersion: text(get(ref, "apiVersion")), Kind: text(get(ref, "kind")), Name: text(get(ref, "name"))}
	owner := named.TemplateOwner(obj.ns)
	if !kind.HasWorkloadRef || owner == nil {
		return nil, nil
	}
	template := get(obj.node, append(slices.Clone(kind.Template), "metadata", "annotations")...)
	w := workload.Workload{}
	w.Policy, w.Mistakes = o.annotated(obj, kind, template)
	w.UseTemplateOf(*owner, kinds.IsTemplateOwner(*owner), o.Names)
	mistakes := warningsOf(obj, template, w.AllMistakes(o.AutoReloadAll, policy.Policy{}))
	if !kinds.IsTemplateOwner(*owner) {
		return nil, mistakes
	}
	return &templateUser{about: obj.String(), line: obj.node.Line, owner: *owner, name: obj.name, policy: w.Policy}, mistakes
}

// applyTemplateUsers reads workloads again if a Rollout that uses their pod template opts in or
// out. These Rollouts are known only after everything has been read.
func (s *Stream) applyTemplateUsers(failed []error) {
	s.options.templateUsers = map[workload.Key][]*templateUser{}
	for _, d := range s.documents {
		for _, user := range d.templateUsers {
			s.options.templateUsers[user.owner] = append(s.options.templateUsers[user.owner], user)
		}
	}
	if len(s.options.templateUsers) == 0 || errors.Join(failed...) != nil {
		return
	}
	again := s.each(func(_ int, d *document) error {
		if len(d.found) == 0 && !d.passed {
			return nil
		}
		d.found, d.passed, d.warnings, d.templateUsers = nil, false, nil, nil
		_, err := s.options.read(d)
		return err
	})
	copy(failed, again)
	left := maps.Clone(s.options.templateUsers)
	for _, d := range s.documents {
		for _, owner := range d.templateOwners {
			delete(left, owner)
		}
	}
	for _, d := range s.documents {
		for _, user := range d.templateUsers {
			if left[user.owner] != nil && user.policy.OptedIn(s.options.AutoReloadAll) {
				d.warnings = append(d.warnings, warning{user.line, user.about + ": " + called(user.owner.Kind, source.Key{Namespace: user.owner.Namespace, Name: user.owner.Name}) +
					", which has its pod template, is not in these manifests, so it is not stamped"})
			}
		}
	}
}

// policyWithTemplateUsers returns the policy of a workload, combined with the policies of its
// template users.
func (o *Options) policyWithTemplateUsers(d *document, obj *object, kind *kinds.Kind, own policy.Policy) policy.Policy {
	owner := workload.Key{Kind: kind.Name, Namespace: obj.ns, Name: obj.name}
	if !kinds.IsTemplateOwner(owner) {
		return own
	}
	var users []policy.TemplateUser
	for _, user := range o.templateUsers[owner] {
		users = append(users, policy.TemplateUser{Name: user.name, Policy: user.policy})
	}
	d.templateOwners = append(d.templateOwners, owner)
	return own.WithTemplateUsers(users)
}
