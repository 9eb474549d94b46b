// Package permissions starts the controller with less than it has to be allowed, on a real API
// server with RBAC.
package permissions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what all tests of this process use.
var shared *stage.Stage

func TestMain(m *testing.M) {
	os.Exit(stage.RunAlone(m, "permissions", 6, func(s *stage.Stage) { shared = s }))
}

// patience bounds what would hang, and nothing else.
const patience = 4 * time.Minute

// account is the ServiceAccount of what is shipped.
const account = "reroll"

// place is a namespace with the controller's account in it, and no permission.
type place struct {
	*testing.T
	ctx       context.Context
	on        *stage.Stage
	ns        *harness.Namespace
	installed *harness.Installation
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return newPlaceOn(t, shared, func(*harness.Manifest) error { return nil })
}

// newPlaceOn does something to what is shipped before it is installed on a cluster.
func newPlaceOn(t *testing.T, on *stage.Stage, change func(*harness.Manifest) error) *place {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	p := &place{T: t, ctx: ctx, on: on}
	binary, err := p.on.Binary()
	p.must(err)
	m, err := harness.ReadManifest(shipped(p, "reroll-namespaced.yaml"))
	p.must(err)
	p.must(change(m))
	p.ns, err = p.on.Harness.EmptyNamespace(ctx, "permissions")
	p.must(err)
	p.installed, err = p.ns.Install(ctx, m, binary)
	p.must(err)
	all, err := p.on.Admin.RbacV1().Roles(p.ns.Name).List(ctx, metav1.ListOptions{})
	p.must(err)
	for i := range all.Items {
		p.must(p.on.Admin.RbacV1().Roles(p.ns.Name).Delete(ctx, all.Items[i].Name, metav1.DeleteOptions{}))
	}
	return p
}

func shipped(p *place, name string) string {
	p.Helper()
	path, err := harness.ShippedManifest()
	p.must(err)
	return filepath.Join(filepath.Dir(path), name)
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// grant gives the controller's account rules, in its namespace and everywhere, in the place of
// those from before. It returns when the API server knows.
func (p *place) grant(g grants) {
	p.Helper()
	roles := p.on.Admin.RbacV1().Roles(p.ns.Name)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "here"}, Rules: g.here}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: p.ns.Name, Name: account}}
	_ = roles.Delete(p.ctx, role.Name, metav1.DeleteOptions{})
	_, err := roles.Create(p.ctx, role, metav1.CreateOptions{})
	p.must(err)
	_, err = p.on.Admin.RbacV1().RoleBindings(p.ns.Name).Create(p.ctx, &rbacv1.RoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: subjects,
	}, metav1.CreateOptions{})
	p.unlessThere(err)
	clusterRoles := p.on.Admin.RbacV1().ClusterRoles()
	everywhere := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: p.ns.Name}, Rules: g.everywhere}
	_ = clusterRoles.Delete(p.ctx, everywhere.Name, metav1.DeleteOptions{})
	_, err = clusterRoles.Create(p.ctx, everywhere, metav1.CreateOptions{})
	p.must(err)
	_, err = p.on.Admin.RbacV1().ClusterRoleBindings().Create(p.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: everywhere.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: everywhere.Name}, Subjects: subjects,
	}, metav1.CreateOptions{})
	p.unlessThere(err)
	for _, r := range single(g.here) {
		p.awaitPermission(r, p.ns.Name, true)
	}
	for _, r := range single(g.everywhere) {
		p.awaitPermission(r, "", true)
	}
}

func (p *place) unlessThere(err error) {
	p.Helper()
	if err != nil && !strings.Contains(err.Error(), "already exists") {
		p.Fatal(err)
	}
}

// awaitPermission returns when the API server gives a permission, or gives it no more.
func (p *place) awaitPermission(r rbacv1.PolicyRule, namespace string, wanted bool) {
	p.Helper()
	attributes := &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: r.Verbs[0], Group: r.APIGroups[0], Resource: r.Resources[0]}
	if len(r.ResourceNames) > 0 {
		attributes.Name = r.ResourceNames[0]
	}
	p.must(harness.Await(p.ctx, fmt.Sprintf("the permission %v in %q to be given or taken", r, namespace), func(ctx context.Context) error {
		review, err := p.on.Admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + p.ns.Name + ":" + account, ResourceAttributes: attributes,
			},
		}, metav1.CreateOptions{})
		if err == nil && review.Status.Allowed != wanted {
			return errors.New("not yet")
		}
		return err
	}))
}

// single makes a rule of each verb on each resource.
func single(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, rbacv1.PolicyRule{
						APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: rule.ResourceNames, Verbs: []string{verb},
					})
				}
			}
		}
	}
	return all
}

// launch runs a controller, with flags and variables, and does not wait.
func (p *place) launch(words ...string) *harness.Controller {
	p.Helper()
	c, err := p.installed.Launch(harness.FlagsAndVariables(words))
	p.must(err)
	stage.EndWith(p, c, "the controller")
	return c
}

// says returns the first line that holds all of these words, when there is one.
func (p *place) says(c *harness.Controller, words ...string) string {
	p.Helper()
	line, err := c.Says(p.ctx, words...)
	p.must(err)
	return line
}
