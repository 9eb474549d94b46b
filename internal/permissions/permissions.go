// Package permissions finds the permissions that the controller needs and lacks, and the RBAC rules
// to add.
package permissions

import (
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Permission is one verb on one resource.
type Permission struct {
	// Namespace is the namespace of the permission. Empty means all namespaces.
	Namespace             string
	Group, Resource, Verb string
	// Name limits the permission to one object. Empty means all objects.
	Name string
	// Without describes the feature that fails without the permission. If it is empty, the
	// controller cannot work without the permission.
	Without string
}

// In returns the same permissions for each of these namespaces. No namespace means all.
func In(namespaces []string, permissions ...Permission) []Permission {
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var all []Permission
	for _, ns := range namespaces {
		for _, r := range permissions {
			r.Namespace = ns
			all = append(all, r)
		}
	}
	return all
}

// To returns a permission for each of these verbs.
func To(group, resource string, verbs ...string) []Permission {
	var all []Permission
	for _, verb := range verbs {
		all = append(all, Permission{Group: group, Resource: resource, Verb: verb})
	}
	return all
}

// askTakes is the timeout of one request.
const askTakes = 10 * time.Second

// Missing returns the permissions that the client does not have. A permission that cannot be
// checked is not missing, and is reported as an error.
//
// In a namespace, one request returns all rules. The list may be incomplete, because a cluster may
// have authorizers other than RBAC. It also does not distinguish cluster-wide rules from those of
// the namespace. Therefore a permission that is not in the list is checked separately, and so is a
// cluster-wide permission.
func Missing(ctx context.Context, client clientset.Interface, all []Permission) ([]Permission, error) {
	var missing []Permission
	var failed error
	rules := map[string][]authorizationv1.ResourceRule{}
	for _, r := range all {
		if _, read := rules[r.Namespace]; !read && r.Namespace != "" {
			// Without a response, each is checked by itself.
			rules[r.Namespace], _ = rulesIn(ctx, client, r.Namespace)
		}
		if slices.ContainsFunc(rules[r.Namespace], r.givenBy) {
			continue
		}
		switch allowed, err := Allowed(ctx, client, r); {
		case err != nil:
			failed = err
		case !allowed:
			missing = append(missing, r)
		}
	}
	return missing, failed
}

// Allowed checks one permission.
func Allowed(ctx context.Context, client clientset.Interface, r Permission) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTakes)
	defer cancel()
	review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.Namespace, Verb: r.Verb, Group: r.Group, Resource: r.Resource, Name: r.Name,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

func rulesIn(ctx context.Context, client clientset.Interface, namespace string) ([]authorizationv1.ResourceRule, error) {
	ctx, cancel := context.WithTimeout(ctx, askTakes)
	defer cancel()
	review, err := client.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return review.Status.ResourceRules, nil
}

func (r Permission) givenBy(rule authorizationv1.ResourceRule) bool {
	has := func(list []string, word string) bool {
		return slices.Contains(list, word) || slices.Contains(list, "*")
	}
	return has(rule.Verbs, r.Verb) && has(rule.APIGroups, r.Group) && has(rule.Resources, r.Resource) &&
		(len(rule.ResourceNames) == 0 || r.Name != "" && slices.Contains(rule.ResourceNames, r.Name))
}
