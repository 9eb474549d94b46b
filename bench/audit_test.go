package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const controllerUser = "system:serviceaccount:bench:reroll"

// logged has the lines of a real audit log, without the fields that do not matter.
const logged = `{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/a?fieldManager=reroll","verb":"patch","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"deployments","namespace":"bench","name":"a","apiGroup":"apps"},"responseStatus":{"code":200}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/b","verb":"patch","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"deployments","namespace":"bench","name":"b","apiGroup":"apps"},"responseStatus":{"code":409}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bare/deployments/a","verb":"patch","user":{"username":"system:serviceaccount:bare:reroll"},"objectRef":{"resource":"deployments","namespace":"bare","name":"a","apiGroup":"apps"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/apps/v1/namespaces/bench/deployments/a/status","verb":"update","user":{"username":"system:serviceaccount:kube-system:deployment-controller"},"objectRef":{"resource":"deployments","namespace":"bench","name":"a","subresource":"status"}}
{"kind":"Event","level":"Metadata","stage":"ResponseStarted","requestURI":"/api/v1/namespaces/bench/secrets?watch=true","verb":"watch","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"secrets","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/bench/secrets?watch=true","verb":"watch","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"secrets","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/apis/events.k8s.io/v1/namespaces/bench/events","verb":"create","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"events","namespace":"bench"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/bench/pods/a/eviction","verb":"create","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"pods","namespace":"bench","subresource":"eviction"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/secrets?limit=1&resourceVersion=","verb":"list","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"secrets"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/secrets?limit=100","verb":"list","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"secrets"}}
{"kind":"Event","level":"Metadata","stage":"ResponseStarted","requestURI":"/api/v1/secrets?allowWatchBookmarks=true&sendInitialEvents=true&watch=true","verb":"watch","user":{"username":"system:serviceaccount:bench:reroll"},"objectRef":{"resource":"secrets"}}
{"kind":"Event","level":"Metadata","stage":"ResponseComplete","requestURI":"/readyz?verbose","verb":"get","user":{"username":"system:serviceaccount:bench:reroll"}}
`

func TestCountRequests(t *testing.T) {
	// The last line is still being written.
	got := requests{}
	taken, err := got.add(strings.NewReader(logged+`{"kind":"Event","stage":"Respon`), controllerUser)
	if err != nil {
		t.Fatal(err)
	}
	if taken != int64(len(logged)) {
		t.Errorf("%d bytes were taken, must be %d: all whole lines", taken, len(logged))
	}
	want := requests{
		patches: 1,
		request{"patch", "deployments (conflict)"}: 1,
		events:                              1,
		request{"watch", "secrets"}:         1,
		request{"create", "pods/eviction"}:  1,
		request{"list", "secrets" + ofOne}:  1,
		request{"list", "secrets"}:          1,
		request{"watch", "secrets" + ofAll}: 1,
		request{"get", "/readyz"}:           1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if total := got.total(); total != 9 {
		t.Errorf("%d requests in all, must be 9", total)
	}
	if others := got.total(patches, events, renewal); others != 7 {
		t.Errorf("%d other requests, must be 7", others)
	}
}

func TestAReadOfAllIsNoLookAtTheStorage(t *testing.T) {
	watch, one, all := request{"watch", "secrets"}, request{"list", "secrets" + ofOne}, request{"list", "secrets"}
	for want, asked := range map[int]requests{0: {watch: 2, one: 2}, 1: {watch: 2, one: 3}, 3: {watch: 3, all: 3}, 4: {request{"watch", "secrets" + ofAll}: 4}, 2: {request{"get", "pods"}: 2, request{"get", "/apis"}: 5}} {
		if got := asked.reads(); got != want {
			t.Errorf("%v: %d reads, must be %d", asked, got, want)
		}
	}
}

func TestALogThatCannotBeReadIsNotAnEmptyOne(t *testing.T) {
	if _, err := (requests{}).add(strings.NewReader("not JSON\n"), controllerUser); err == nil || !strings.Contains(err.Error(), "read a line of the audit log") {
		t.Errorf("the error is %v", err)
	}
	missing := auditLog{path: filepath.Join(t.TempDir(), "audit.log"), user: controllerUser}
	if _, err := missing.begin(); err == nil {
		t.Error("the end of a log that does not exist was found")
	}
	if _, err := (&tally{log: missing, counted: requests{}}).read(); err == nil {
		t.Error("a log that does not exist was read")
	}
}

func TestOnlyWhatIsBehindAPlaceCounts(t *testing.T) {
	a := auditLog{path: filepath.Join(t.TempDir(), "audit.log"), user: controllerUser}
	if err := os.WriteFile(a.path, []byte(logged), 0o600); err != nil {
		t.Fatal(err)
	}
	counted, err := a.begin()
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(logged, "\n")
	for n := range 3 {
		file, err := os.OpenFile(a.path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		// Half of the next line is there too, and the rest of it comes with the next ones.
		if _, err := file.WriteString(first[20*min(n, 1):] + "\n" + first[:20]); err != nil {
			t.Fatal(err)
		}
		file.Close()
		got, err := counted.read()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(requests{patches: n + 1}, got); diff != "" {
			t.Error(diff)
		}
	}
}
