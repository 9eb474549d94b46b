package inspect

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// For a namespace that does not exist, the API server returns empty lists. That proves nothing
// about any workload.
func TestANamespaceThatIsNotThere(t *testing.T) {
	for about, tc := range map[string]struct {
		// namespace is the status code of the response for the namespace. holds is the list of
		// ConfigMaps in it.
		namespace int
		holds     string
		ns        string
		err       string
	}{
		"one that is there":            {http.StatusOK, "", "shop", ""},
		"one that is not":              {http.StatusNotFound, "", "shop", "namespace shop does not exist"},
		"one that may not be asked":    {http.StatusForbidden, "", "shop", "namespace shop is empty or does not exist, and you may not read namespaces"},
		"not asked, with something in": {http.StatusForbidden, `{"metadata": {"name": "kube-root-ca.crt", "namespace": "shop"}}`, "shop", ""},
		"all namespaces":               {http.StatusNotFound, "", "", ""},
	} {
		t.Run(about, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch last := path.Base(r.URL.Path); {
				case r.URL.Query().Has("sendInitialEvents"):
					w.WriteHeader(http.StatusUnprocessableEntity)
					fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Invalid", "code": 422}`)
				case r.URL.Query().Has("watch"):
					<-r.Context().Done()
				case strings.HasSuffix(r.URL.Path, "/namespaces/shop"):
					reason := map[int]string{http.StatusNotFound: "NotFound", http.StatusForbidden: "Forbidden"}[tc.namespace]
					w.WriteHeader(tc.namespace)
					if reason == "" {
						fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}`)
						return
					}
					fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": %q, "code": %d}`, reason, tc.namespace)
				case last == "configmaps" || last == "secrets":
					fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "%sList", "metadata": {"resourceVersion": "1"}, "items": [%s]}`,
						map[bool]string{true: "ConfigMap", false: "Secret"}[last == "configmaps"], map[bool]string{true: tc.holds}[last == "configmaps"])
				case last == "rollouts":
					fmt.Fprint(w, `{"apiVersion": "argoproj.io/v1alpha1", "kind": "RolloutList", "metadata": {"resourceVersion": "1"}, "items": []}`)
				case last == "cronjobs" || last == "jobs":
					fmt.Fprintf(w, `{"apiVersion": "batch/v1", "kind": "%sList", "metadata": {"resourceVersion": "1"}, "items": []}`,
						map[bool]string{true: "CronJob", false: "Job"}[last == "cronjobs"])
				default:
					kind := map[string]string{"deployments": "Deployment", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet"}[last]
					fmt.Fprintf(w, `{"apiVersion": "apps/v1", "kind": "%sList", "metadata": {"resourceVersion": "1"}, "items": []}`, kind)
				}
			}))
			defer server.Close()
			c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			settings := tell(t, "").objects.settings
			settings.Controller = ""
			_, err = c.Read(t.Context(), settings, tc.ns)
			judgeError(t, "read", err, tc.err)

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			looked := false
			err = c.Follow(ctx, settings, tc.ns, clock.RealClock{}, func(*Objects) (bool, error) {
				looked = true
				return true, nil
			})
			judgeError(t, "followed", err, tc.err)
			if looked != (tc.err == "") {
				t.Errorf("it was looked at: %v", looked)
			}
		})
	}
}

func judgeError(t *testing.T, about string, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", about, got, want)
	}
}
