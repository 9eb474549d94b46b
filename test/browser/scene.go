package browser

import (
	"context"
	"errors"
	"fmt"
	"net"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/harness"
)

// Scene is a cluster with workloads in several states, a controller that serves its UI, and readers.
type Scene struct {
	Controller *harness.Controller
	// Home is the address of the first page.
	Home string
	// Shop has the workloads, and Bank those that few readers may read.
	Shop, Bank *harness.Namespace

	admin     kubernetes.Interface
	own       *harness.Namespace
	installed *harness.Installation
	port      string
	flags     []string
}

// readers is the namespace of the ServiceAccounts of readers.
const readers = "readers"

const (
	// All may list everything.
	All = "all"
	// Some may list the Deployments and ConfigMaps of the shop.
	Some = "some"
	// None may list nothing.
	None = "none"
)

// Build creates the scene on a cluster, with further flags of the controller. Play brings the
// workloads into their states.
func Build(ctx context.Context, h *harness.Harness, admin kubernetes.Interface, binary string, play func(context.Context, *Scene) error, flags ...string) (s *Scene, err error) {
	s = &Scene{admin: admin, flags: flags}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	s.Home = "http://127.0.0.1:" + s.port + "/"
	path, err := harness.ShippedForAllNamespaces()
	if err != nil {
		return nil, err
	}
	manifest, err := harness.ReadRendered(path)
	if err != nil {
		return nil, err
	}
	if s.own, err = h.EmptyNamespace(ctx, "reroll"); err != nil {
		return nil, err
	}
	if s.installed, err = s.own.Install(ctx, manifest, binary); err != nil {
		return nil, err
	}
	if err := s.allowReviews(ctx, s.own.Name); err != nil {
		return nil, err
	}
	if s.Shop, err = h.NamedNamespace(ctx, "shop"); err != nil {
		return nil, err
	}
	if s.Bank, err = h.NamedNamespace(ctx, "bank"); err != nil {
		return nil, err
	}
	if err := s.addReaders(ctx); err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	return s, play(ctx, s)
}

// freePort returns a port that stays the same for a controller that is started again. It is free on
// all addresses, because the API server sends no request of its proxy to 127.0.0.1.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", ":0") //nolint:gosec // see above, and it is closed at once
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

// Start starts the controller.
func (s *Scene) Start(ctx context.Context) (err error) {
	s.Controller, err = s.installed.Start(ctx, append([]string{"--ui-address=:" + s.port, "--is-Argo-Rollouts=false"}, s.flags...), nil)
	return err
}

// allowReviews grants what the chart grants with reloader.ui.enabled.
func (s *Scene) allowReviews(ctx context.Context, namespace string) error {
	_, err := s.admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-ui"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = s.admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reroll-ui"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reroll-ui"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "reroll", Namespace: namespace}},
	}, metav1.CreateOptions{})
	return err
}

func (s *Scene) addReaders(ctx context.Context) error {
	_, err := s.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: readers}}, metav1.CreateOptions{})
	all := []error{err}
	for _, name := range []string{All, Some, None} {
		all = append(all, s.AddReader(ctx, name))
	}
	_, err = s.admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-all"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}}},
	}, metav1.CreateOptions{})
	all = append(all, err)
	_, err = s.admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-all"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reads-all"}, Subjects: account(All),
	}, metav1.CreateOptions{})
	all = append(all, err)
	_, err = s.admin.RbacV1().Roles(s.Shop.Name).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-some"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}},
		},
	}, metav1.CreateOptions{})
	all = append(all, err)
	_, err = s.admin.RbacV1().RoleBindings(s.Shop.Name).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reads-some"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reads-some"}, Subjects: account(Some),
	}, metav1.CreateOptions{})
	return errors.Join(append(all, err)...)
}

func account(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: readers}}
}

// AddReader creates a ServiceAccount without permissions.
func (s *Scene) AddReader(ctx context.Context, name string) error {
	_, err := s.admin.CoreV1().ServiceAccounts(readers).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// Token creates a token, as kubectl create token does.
func (s *Scene) Token(ctx context.Context, reader string) (string, error) {
	answer, err := s.admin.CoreV1().ServiceAccounts(readers).CreateToken(ctx, reader, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a token: %w", err)
	}
	return answer.Status.Token, nil
}

// Revoke deletes a ServiceAccount, so that its tokens are no longer valid.
func (s *Scene) Revoke(ctx context.Context, reader string) error {
	return s.admin.CoreV1().ServiceAccounts(readers).Delete(ctx, reader, metav1.DeleteOptions{})
}

// Edit changes the data of a ConfigMap of the shop, in the name of a program.
func (s *Scene) Edit(ctx context.Context, name, value, manager string) error {
	change := fmt.Sprintf(`{"data":{"key":%q}}`, value)
	_, err := s.admin.CoreV1().ConfigMaps(s.Shop.Name).Patch(ctx, name, types.MergePatchType, []byte(change), metav1.PatchOptions{FieldManager: manager})
	return err
}
