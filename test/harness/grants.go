package harness

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Grant is one verb on one resource, and on objects of one name if there is a name.
type Grant struct{ Role, Verb, Group, Resource, Name string }

// String says it as kubectl auth can-i takes it, with the role that gives it.
func (g Grant) String() string {
	what := g.Resource
	if g.Group != "" {
		what += "." + g.Group
	}
	if g.Name != "" {
		what += "/" + g.Name
	}
	return fmt.Sprintf("%s %s (%s)", g.Verb, what, g.Role)
}

// covers reports whether it takes this permission to make a request.
func (g Grant) covers(r *Request) bool {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return g.Verb == r.Verb && g.Group == r.ObjectRef.APIGroup && g.Resource == resource && (g.Name == "" || g.Name == r.ObjectRef.Name)
}

// Grants are the permissions that the manifest gives.
func (m *Manifest) Grants() ([]Grant, error) {
	var all []Grant
	for _, obj := range m.objects {
		if obj.GetKind() != "Role" && obj.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
			return nil, fmt.Errorf("read %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
		for _, rule := range role.Rules {
			all = append(all, single(obj.GetKind()+" "+obj.GetName(), rule)...)
		}
	}
	return all, nil
}

func single(role string, rule rbacv1.PolicyRule) []Grant {
	var all []Grant
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, Grant{role, verb, group, resource, name})
				}
			}
		}
	}
	return all
}

// Unused are those grants that no request has made use of.
func Unused(grants []Grant, requests []Request) []Grant {
	return slices.DeleteFunc(slices.Clone(grants), func(g Grant) bool {
		return slices.ContainsFunc(requests, func(r Request) bool { return r.Status.Code < 400 && g.covers(&r) })
	})
}

// Refused are the requests that the account had no permission to make. That a request was refused
// otherwise, such as by an admission rule or because the namespace is being deleted, does not
// count.
func Refused(grants []Grant, requests []Request) []Request {
	return slices.DeleteFunc(slices.Clone(requests), func(r Request) bool {
		// Everybody may ask what there is, and for the own permissions.
		common := r.ObjectRef.Resource == "" || strings.HasPrefix(r.ObjectRef.Resource, "selfsubject")
		return common || slices.ContainsFunc(grants, func(g Grant) bool { return g.covers(&r) })
	})
}
