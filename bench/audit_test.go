package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const controllerUser = "system:serviceaccount:bench:reroll-reroll"

// logged has the lines of a real audit log, without the fields that do not matter.
const logged = `{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/a?fieldManager=reroll","verb":"patch","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"deployments","namespace":"bench","name":"a","apiGroup":"apps"},"responseStatus":{"code":200}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/b","verb":"patch","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"deployments","namespace":"bench","name":"b","apiGroup":"apps"},"responseStatus":{"code":409}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bare/deployments/a","verb":"patch","user":{"username":"system:serviceaccount:bare:reroll-reroll"},"objectRef":{"resource":"deployments","namespace":"bare","name":"a","apiGroup":"apps"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/a/status","verb":"update","user":{"username":"system:serviceaccount:kube-system:deployment-controller"},"objectRef":{"resource":"deployments","namespace":"bench","name":"a","subresource":"status"}}
{"kind":"Event","level":"Metadata","stage":"ResponseStarted","requestURI":"/api/v1/namespaces/bench/secrets?watch=true","verb":"watch","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"secrets","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/bench/secrets?watch=true","verb":"watch","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"secrets","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/events.k8s.io/v1/namespaces/bench/events","verb":"create","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"events","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/bench/pods/a/eviction","verb":"create","user":{"username":"system:serviceaccount:bench:reroll-reroll"},"objectRef":{"resource":"pods","namespace":"bench","subresource":"eviction"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/readyz?verbose","verb":"get","user":{"username":"system:serviceaccount:bench:reroll-reroll"}}
`

func TestCountRequests(t *testing.T) {
	// The last line is still being written.
	got, err := countRequests(strings.NewReader(logged+`{"kind":"Event","stage":"Respon`), controllerUser)
	if err != nil {
		t.Fatal(err)
	}
	want := requests{
		patches:                            2, // one that was refused is one all the same
		events:                             1,
		request{"watch", "secrets"}:        1,
		request{"create", "pods/eviction"}: 1,
		request{"get", "/readyz"}:          1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if total := got.total(); total != 6 {
		t.Errorf("%d requests in all, must be 6", total)
	}
	if others := got.total(patches, events, renewal); others != 3 {
		t.Errorf("%d other requests, must be 3", others)
	}
}

func TestALogThatCannotBeReadIsNotAnEmptyOne(t *testing.T) {
	if _, err := countRequests(strings.NewReader("not JSON\n"), controllerUser); err == nil || !strings.Contains(err.Error(), "read a line of the audit log") {
		t.Errorf("the error is %v", err)
	}
	missing := auditLog{path: filepath.Join(t.TempDir(), "audit.log"), user: controllerUser}
	if _, err := missing.end(); err == nil {
		t.Error("the end of a log that does not exist was found")
	}
	if _, err := missing.since(0); err == nil {
		t.Error("a log that does not exist was read")
	}
}

func TestOnlyWhatIsBehindAPlaceCounts(t *testing.T) {
	a := auditLog{path: filepath.Join(t.TempDir(), "audit.log"), user: controllerUser}
	if err := os.WriteFile(a.path, []byte(logged), 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := a.end()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(logged, "\n")
	if err := os.WriteFile(a.path, []byte(logged+first+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := a.since(place)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(requests{patches: 1}, got); diff != "" {
		t.Error(diff)
	}
}
