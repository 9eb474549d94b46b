package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/test/clientsettest"
)

func TestANamespaceThatDoesNotExistIsReported(t *testing.T) {
	for about, tc := range map[string]struct {
		namespaces []string
		permitted  bool
		want       []string
		reads      int
	}{
		"all are watched":                 {nil, true, nil, 0},
		"it exists":                       {[]string{"shop"}, true, nil, 1},
		"one of two does not":             {[]string{"shop", "nosuch"}, true, []string{"nosuch"}, 2},
		"neither does":                    {[]string{"nosuch", "nosuch-2"}, true, []string{"nosuch", "nosuch-2"}, 2},
		"namespaces may not be read here": {[]string{"shop", "nosuch"}, false, nil, 0},
	} {
		t.Run(about, func(t *testing.T) {
			client := clientsettest.New(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
			client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
				review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
				asked := review.Spec.ResourceAttributes
				review.Status.Allowed = tc.permitted && asked.Verb == "get" && asked.Resource == "namespaces" && asked.Name == asked.Namespace
				return true, review, nil
			})
			var log bytes.Buffer
			warnOfMissingNamespaces(t.Context(), client, tc.namespaces, slog.New(slog.NewTextHandler(&log, nil)))
			if got := strings.Count(log.String(), "\n"); got != len(tc.want) {
				t.Errorf("%d lines, want %d: %s", got, len(tc.want), log.String())
			}
			for _, name := range tc.want {
				if !strings.Contains(log.String(), "level=WARN msg=\"a namespace to watch does not exist. Check --namespaces, or create it: Reroll then watches it without a restart\" namespace="+name+"\n") {
					t.Errorf("nothing about %s: %s", name, log.String())
				}
			}
			reads := 0
			for _, action := range client.Actions() {
				if action.GetVerb() == "get" {
					reads++
				}
			}
			if reads != tc.reads {
				t.Errorf("%d reads, want %d", reads, tc.reads)
			}
		})
	}
}
