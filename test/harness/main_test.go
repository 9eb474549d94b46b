package harness

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/test/cluster"
)

// shared is the cluster of all tests of this process; each test has a namespace of its own in it.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	if act, ok := roles()[os.Getenv(roleVariable)]; ok {
		os.Exit(act())
	}
	os.Exit(withCluster(m))
}

func withCluster(m *testing.M) int {
	c, err := cluster.Borrow(context.Background(), cluster.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer c.Stop()
	shared = c
	return m.Run()
}

// patience bounds what would hang, and nothing else.
const patience = 3 * time.Minute

func newNamespace(t *testing.T) (context.Context, *Namespace) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	h, err := New(shared)
	if err != nil {
		t.Fatal(err)
	}
	n, err := h.Namespace(ctx, "harness")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(n.Report(context.Background()))
		}
	})
	return ctx, n
}

func ref(t *testing.T, s string) Ref {
	t.Helper()
	r, err := ParseRef(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// allowed asks the API server, as the user of a kubeconfig, what that user may do.
func allowed(t *testing.T, ctx context.Context, kubeconfig, namespace, verb, resource string) bool {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(t, err)
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	review, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Resource: resource,
		}},
	}, metav1.CreateOptions{})
	must(t, err)
	return review.Status.Allowed
}
