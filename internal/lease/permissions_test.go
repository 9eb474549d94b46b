package lease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/lease"
)

const user = "reroll"

// grant gives the user RBAC rules, and returns when they are in effect.
func (p *place) grant(rules ...rbacv1.PolicyRule) {
	p.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "lease"}, Rules: rules}
	if _, err := p.admin.RbacV1().Roles(p.namespace).Create(p.ctx, role, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "lease"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "lease"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := p.admin.RbacV1().RoleBindings(p.namespace).Create(p.ctx, binding, metav1.CreateOptions{}); err != nil {
		p.Fatal(err)
	}
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			p.awaitPermission(verb, true)
		}
	}
}

func (p *place) withdraw() {
	p.Helper()
	if err := p.admin.RbacV1().Roles(p.namespace).Delete(p.ctx, "lease", metav1.DeleteOptions{}); err != nil {
		p.Fatal(err)
	}
	for _, verb := range []string{"get", "create", "update"} {
		p.awaitPermission(verb, false)
	}
}

func (p *place) awaitPermission(verb string, wanted bool) {
	p.Helper()
	p.await("the permission to "+verb+" the lease to be given or taken", func() string {
		review, err := p.admin.AuthorizationV1().LocalSubjectAccessReviews(p.namespace).Create(p.ctx, &authorizationv1.LocalSubjectAccessReview{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace},
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: p.namespace, Verb: verb, Group: "coordination.k8s.io", Resource: "leases", Name: lease.Name,
			}},
		}, metav1.CreateOptions{})
		switch {
		case err != nil:
			return err.Error()
		case review.Status.Allowed != wanted:
			return "not yet"
		default:
			return ""
		}
	})
}

func rule(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: verbs}
}

func TestMissingPermissionsAreNamedBeforeAnythingIsWaitedFor(t *testing.T) {
	for about, tc := range map[string]struct {
		given   []string
		missing []string
	}{
		"none are given": {nil, []string{"get", "create", "update"}},
		"no get":         {[]string{"create", "update"}, []string{"get"}},
		"no create":      {[]string{"get", "update"}, []string{"create"}},
		"no update":      {[]string{"get", "create"}, []string{"update"}},
		"only get":       {[]string{"get"}, []string{"create", "update"}},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			// If another replica holds the lease, a missing permission to update it would not show
			// before that replica ends.
			p.instance("first", as{}).acquires()
			if tc.given != nil {
				p.grant(rule(tc.given...))
			}
			i := p.instance("second", as{user: user})
			err := i.Acquire(p.ctx)
			denied, ok := errors.AsType[*lease.PermissionError](err)
			if !ok || !slices.Equal(denied.Missing, tc.missing) {
				t.Fatalf("error: %v, want one that says that these are missing: %v", err, tc.missing)
			}
			for _, want := range []string{p.namespace + "/" + lease.Name, "may not " + strings.Join(tc.missing, ", ") + " it", "Role of namespace " + p.namespace} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			if asked := i.wire.asked(); asked != "" {
				t.Errorf("it tries all the same: %s", asked)
			}
			i.Release(p.ctx)
		})
	}
}

func TestTheRulesInTheMessageAreThoseThatAreNeeded(t *testing.T) {
	p := newPlace(t)
	err := p.instance("first", as{user: user}).Acquire(p.ctx)
	if err == nil {
		t.Fatal("no permission was given")
	}
	_, text, _ := strings.Cut(err.Error(), "add to the rules: ")
	var rules []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(text), &rules); err != nil {
		t.Fatalf("%v in: %s", err, text)
	}
	p.grant(rules...)
	i := p.instance("first", as{user: user}).acquires()
	i.tick(retry)
	i.Release(p.ctx)
	if l := p.lease(); *l.Spec.HolderIdentity != "" || i.isLost() {
		t.Errorf("lease: %+v, %v", l.Spec, i.Err())
	}
}

func TestPermissionsRemovedWhileWaitingAreReported(t *testing.T) {
	p := newPlace(t)
	p.instance("first", as{}).acquires()
	p.grant(rule("get", "create", "update"))
	i := p.instance("second", as{user: user}).waits(p.ctx)
	p.withdraw()
	i.clock.Step(retry)
	err := <-i.acquired
	if _, ok := errors.AsType[*lease.PermissionError](err); !ok || !apierrors.IsForbidden(err) {
		t.Errorf("error: %v", err)
	}
}

func TestAHolderWhosePermissionsAreTakenAwayLosesTheLeaseAtItsDeadline(t *testing.T) {
	p := newPlace(t)
	p.grant(rule("get", "create", "update"))
	i := p.instance("first", as{user: user}).acquires()
	p.withdraw()
	// During the upgrade of a chart, permissions may be missing for a moment.
	for passed := retry; passed < deadline; passed += retry {
		i.tick(retry)
		if !i.Held() || i.isLost() {
			t.Fatalf("lost after %s: %v", passed, i.Err())
		}
	}
	i.tick(retry)
	if err := i.awaitLost(); !strings.Contains(err.Error(), "the permission to renew it is missing") || !apierrors.IsForbidden(err) {
		t.Errorf("error: %v", err)
	}
}

func TestWithoutAnAnswerAboutPermissionsTheLeaseIsTried(t *testing.T) {
	p := newPlace(t)
	p.grant(rule("get", "create", "update"))
	i := p.instance("first", as{user: user})
	i.wire.refuseReviews()
	i.acquires()
	q := p.another()
	j := q.instance("first", as{user: user})
	j.wire.refuseReviews()
	err := j.Acquire(q.ctx)
	denied, ok := errors.AsType[*lease.PermissionError](err)
	if !ok || !apierrors.IsForbidden(err) || len(denied.Missing) != 1 || !strings.Contains(err.Error(), `cannot get resource "leases"`) {
		t.Errorf("error: %v", err)
	}
}
