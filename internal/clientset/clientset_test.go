package clientset_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// request is what an API server gets.
type request struct {
	Method, URI, Body string
	Headers           http.Header
}

// requestsOf returns the requests that a client sends, without the connection.
func requestsOf(t *testing.T, config rest.Config, send func(*rest.Config)) []request {
	t.Helper()
	var all []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all = append(all, request{r.Method, r.URL.RequestURI(), string(body), r.Header})
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403}`)
	}))
	defer server.Close()
	config.Host = server.URL
	send(&config)
	return all
}

// sendAll sends every request that an interface has.
func sendAll(t *testing.T, client clientset.Interface) (errs []string) {
	ctx := t.Context()
	note := func(err error) { errs = append(errs, err.Error()) }
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	each(ctx, client.ConfigMaps("shop"), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "1"}}, note)
	each(ctx, client.Secrets("shop"), &corev1.Secret{ObjectMeta: meta}, note)
	each(ctx, client.Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, note)
	each(ctx, client.Pods("shop"), &corev1.Pod{ObjectMeta: meta}, note)
	each(ctx, client.CoreEvents("shop"), &corev1.Event{ObjectMeta: meta}, note)
	each(ctx, client.Events("shop"), &eventsv1.Event{ObjectMeta: meta}, note)
	each(ctx, client.Deployments("shop"), &appsv1.Deployment{ObjectMeta: meta}, note)
	each(ctx, client.ReplicaSets("shop"), &appsv1.ReplicaSet{ObjectMeta: meta}, note)
	each(ctx, client.Leases("shop"), &coordinationv1.Lease{ObjectMeta: meta}, note)
	_, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
	note(err)
	_, err = client.SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{}, metav1.CreateOptions{})
	note(err)
	_, err = client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	note(err)
	_, err = client.ConfigMaps("").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	note(err)
	for _, group := range []string{corev1.GroupName, appsv1.GroupName, batchv1.GroupName} {
		note(client.Group(group).Get().Namespace("shop").Resource("things").Name("web").Do(ctx).Error())
	}
	note(client.Discovery().Get().AbsPath("/apis/apps/v1").Do(ctx).Into(&metav1.APIResourceList{}))
	return errs
}

func each[T, L any](ctx context.Context, objects clientset.Objects[T, L], obj T, note func(error)) {
	_, err := objects.Get(ctx, "web", metav1.GetOptions{ResourceVersion: "0"})
	note(err)
	_, err = objects.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=web", Limit: 5, Continue: "next"})
	note(err)
	_, err = objects.Create(ctx, obj, metav1.CreateOptions{FieldManager: "reroll"})
	note(err)
	_, err = objects.Update(ctx, obj, metav1.UpdateOptions{FieldManager: "reroll"})
	note(err)
}

func TestRequestsAndErrorsAreThoseOfClientGo(t *testing.T) {
	protobuf := rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON}
	for about, config := range map[string]rest.Config{
		"protobuf":             {QPS: -1, ContentConfig: protobuf},
		"JSON":                 {QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}},
		"a user agent, a user": {QPS: -1, UserAgent: "reroll/1.2.3", Impersonate: rest.ImpersonationConfig{UserName: "jane"}},
		"a limit":              {QPS: 1000, Burst: 1000, ContentConfig: protobuf},
	} {
		t.Run(about, func(t *testing.T) {
			var wantErrors, gotErrors []string
			want := requestsOf(t, config, func(c *rest.Config) {
				client, err := kubernetes.NewForConfig(c)
				if err != nil {
					t.Fatal(err)
				}
				wantErrors = sendAll(t, adapted{client})
			})
			got := requestsOf(t, config, func(c *rest.Config) {
				client, err := clientset.NewForConfig(c)
				if err != nil {
					t.Fatal(err)
				}
				gotErrors = sendAll(t, client)
			})
			if len(got) < 40 {
				t.Errorf("%d requests, want more", len(got))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("other requests than those of client-go (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wantErrors, gotErrors); diff != "" {
				t.Errorf("other errors than those of client-go (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAllClientsShareOneLimit(t *testing.T) {
	client, err := clientset.NewForConfig(&rest.Config{QPS: 20, Burst: 30})
	if err != nil {
		t.Fatal(err)
	}
	limit := client.Discovery().GetRateLimiter()
	if limit == nil || limit.QPS() != 20 {
		t.Fatalf("the limit is %v", limit)
	}
	for _, group := range []string{corev1.GroupName, appsv1.GroupName, batchv1.GroupName, coordinationv1.GroupName} {
		if client.Group(group).GetRateLimiter() != limit {
			t.Errorf("group %q has a limit of its own", group)
		}
	}
	if _, err := clientset.NewForConfig(&rest.Config{QPS: 20}); err == nil {
		t.Error("a limit without a burst is no error")
	}
}

func TestTheSchemeKnowsTheGroupsInUseAsClientGoDoes(t *testing.T) {
	groups := clientset.Scheme.PrioritizedVersionsAllGroups()
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if slices.Contains(groups, gvk.GroupVersion()) && !clientset.Scheme.Recognizes(gvk) {
			t.Errorf("%s is unknown", gvk)
		}
	}
}

// A single import of another group costs megabytes, because its types are registered at the start.
func TestTheBinaryHasOnlyTheGroupsInUse(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/reroll-dev/reroll/cmd/reroll").Output()
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"apps/v1", "authentication/v1", "authorization/v1", "batch/v1", "coordination/v1", "core/v1", "events/v1"}
	// The types of core use one of its types.
	known = append(known, "scheduling/v1alpha3")
	for imported := range strings.FieldsSeq(string(out)) {
		group, is := strings.CutPrefix(imported, "k8s.io/api/")
		switch {
		case is && !slices.Contains(known, group),
			strings.HasPrefix(imported, "k8s.io/client-go/kubernetes"), strings.HasPrefix(imported, "k8s.io/client-go/applyconfigurations"),
			imported == "k8s.io/client-go/discovery", strings.HasPrefix(imported, "github.com/google/gnostic-models"):
			t.Errorf("the binary has %s", imported)
		}
	}
}
