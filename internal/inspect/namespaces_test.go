package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// The controller reconciles nothing in a namespace that is being deleted, even if it watches all
// namespaces.
func TestANamespaceThatIsBeingDeletedIsLeftOut(t *testing.T) {
	const gone = `{"metadata": {"name": "shop", "deletionTimestamp": "2026-03-01T12:00:00Z"}}`
	for about, tc := range map[string]struct {
		flags   string
		allowed bool
		leftOut string
		unread  bool
	}{
		"all are watched":                           {"", true, "namespace shop is being deleted", false},
		"all are watched, and it may not be read":   {"", false, "", false},
		"some are selected, and it may not be read": {"--namespace-selector=tier=front", false, "", true},
		"it is named":                               {"--namespaces=shop", true, "", false},
	} {
		t.Run(about, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if !tc.allowed {
					w.WriteHeader(http.StatusForbidden)
					fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`)
					return
				}
				fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "NamespaceList", "metadata": {"resourceVersion": "1"}, "items": [%s]}`, gone)
			}))
			defer server.Close()
			c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			o := tell(t, "# flags: "+tc.flags+"\n").objects
			c.readNamespaces(t.Context(), o.settings, o, "shop")
			status, err := o.Status("shop", "", func(string) ([]Pod, error) { return nil, nil }, noon)
			if err != nil {
				t.Fatal(err)
			}
			says := strings.Contains(flat(status.Text(Paint{}, Layout{})), noDefaults) && strings.Contains(flat(status.Pending().Text(Paint{})), noDefaults)
			if says == tc.allowed {
				t.Errorf("the annotations are unknown: said %t", says)
			}
			if got := o.settings.leftOut(o, "shop"); got != tc.leftOut || len(o.unread) > 0 != tc.unread {
				t.Errorf("left out: %q, unread: %v", got, o.unread)
			}
		})
	}
}

// flat is a text on one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
