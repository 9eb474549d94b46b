package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/test/harness"
)

// withdraw takes the permissions to the lease from the controller's account, and returns when the
// API server knows.
func (i *installation) withdraw() {
	i.Helper()
	roles := shared.Admin.RbacV1().Roles(i.ns.Name)
	all, err := roles.List(i.ctx, metav1.ListOptions{})
	i.must(err)
	for r := range all.Items {
		role := &all.Items[r]
		role.Rules = slices.DeleteFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.Resources, "leases") })
		_, err := roles.Update(i.ctx, role, metav1.UpdateOptions{})
		i.must(err)
	}
	i.must(harness.Await(i.ctx, "the permissions to be gone", func(ctx context.Context) error {
		review, err := shared.Admin.AuthorizationV1().LocalSubjectAccessReviews(i.ns.Name).Create(ctx, &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: i.ns.Name},
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + i.ns.Name + ":" + account,
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: i.ns.Name, Verb: "update", Group: "coordination.k8s.io", Resource: "leases", Name: lease.Name,
				},
			},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed {
			return errors.New("they are there still")
		}
		return err
	}))
}

const missing = "the controller may not get, create, update it"

func TestWithoutPermissionsAndWithoutHAItActsAndWarnsOnce(t *testing.T) {
	i := install(t)
	i.withdraw()
	c := i.start("first")
	i.edit("red")
	i.rollsOnce(0)
	lines := c.Log.Holding(`"level":"warning"`, "without the lease", missing, "resourceNames: ["+lease.Name+"], verbs: [get, update]")
	if len(lines) != 1 {
		t.Errorf("want one warning, got %q", lines)
	}
	if asked := c.proxy.requests(aboutLease); len(asked) > 0 {
		t.Errorf("it asks for what it may not have: %+v", asked)
	}
	i.must(c.Stop(i.ctx))
}

func TestWithoutPermissionsHAIsRefused(t *testing.T) {
	i := install(t)
	i.withdraw()
	c, err := i.tryStart("first", nil, "--enable-ha")
	if code := i.ended(c); code != 1 {
		t.Errorf("exit code %d, want 1 (%v)", code, err)
	}
	i.says(c, "reroll: lease "+i.ns.Name+"/"+lease.Name, missing, "add to the rules: [{")
}

func TestWithoutANameHAIsRefused(t *testing.T) {
	i := install(t)
	for _, name := range []string{"POD_NAME", "POD_NAMESPACE"} {
		c, err := i.tryStart("first", []string{name + "="}, "--enable-ha")
		if code := i.ended(c); code != 2 {
			t.Errorf("exit code %d, want 2 (%v)", code, err)
		}
		i.says(c, fmt.Sprintf("--enable-ha: %s is not set", name))
	}
}

func TestWithoutAPodNameTheHolderIsOneOfAKind(t *testing.T) {
	i := install(t)
	// Not ready before it holds the lease or waits for it, which both of them say.
	first, err := i.tryStart("", nil)
	i.must(err)
	i.says(first, "holding the lease")
	holder := *i.lease().Spec.HolderIdentity
	second, err := i.tryStart("", nil)
	i.must(err)
	i.says(second, "waiting for the lease", `"holder":"`+holder+`"`)
	if host, id, found := strings.Cut(holder, "_"); !found || host == "" || len(id) != 36 {
		t.Errorf("holder %q", holder)
	}
}

func TestWithoutAPodNamespaceThereIsNoLease(t *testing.T) {
	i := install(t)
	c, err := i.tryStart("first", []string{"POD_NAMESPACE="})
	i.must(err)
	i.edit("red")
	i.rollsOnce(0)
	if asked := c.proxy.requests(aboutLease); len(asked) > 0 {
		t.Errorf("asked: %+v", asked)
	}
}
