package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/inspect"
)

func TestTimesInTextsAreElements(t *testing.T) {
	s := &site{Options: Options{Clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}}
	for text, want := range map[string]string{
		"since 2026-03-01T11:55:00Z: data": `since <time datetime="2026-03-01T11:55:00Z" title="2026-03-01T11:55:00Z">5m ago</time>: data`,
		"at 2026-03-02T22:00:00+01:00 (Europe/Berlin), here 2026-03-02T21:00:00Z; or": `at <time datetime="2026-03-02T21:00:00Z" ` +
			`title="2026-03-02T22:00:00+01:00 (Europe/Berlin), here 2026-03-02T21:00:00Z">Mon 2 Mar, 21:00 UTC</time>; or`,
		"<b>2026-99-01T11:55:00Z</b>":  "&lt;b&gt;2026-99-01T11:55:00Z&lt;/b&gt;",
		"cfg-2026-03-01t11 is no time": "cfg-2026-03-01t11 is no time",
	} {
		if got := string(s.text(text)); got != want {
			t.Errorf("%q is\n%s, want\n%s", text, got, want)
		}
	}
}

// A workload that waits for days must not be another page each second.
func TestAPageWithAgesStaysTheSame(t *testing.T) {
	manifest := func(ledger string) string {
		return deployment("shop", "web", ledger, "configMap/web-config") + configMap("shop", "web-config", map[bool]string{true: "before", false: "now"}[ledger == auto], "")
	}
	before := clusterOf(t, "", manifest(auto))
	clk := clocktesting.NewFakeClock(time.Now())
	cluster := clusterAt(t, "", manifest(adopted(t, before, "shop", "web", auto)), settings(t), clk)
	server := serve(t, everything, cluster)
	page := get(t, server, "/", http.StatusOK)
	has(t, page, "out-of-date", `since <time datetime="`)
	version := cluster.Board().Version
	clk.Step(time.Second) // an age would be another one
	cluster.Refresh(t.Context())
	if now := cluster.Board().Version; now != version {
		t.Errorf("version %d is %d a second later", version, now)
	}
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK), `data from <time datetime="`)
}

func TestASearchFindsSourcesThatNoWorkloadUses(t *testing.T) {
	manifest := deployment("shop", "web", auto, "configMap/web-config") + configMap("shop", "web-config", "a", "") + configMap("shop", "Web-old", "b", "") + secret("shop", "web-key", "c", "")
	cluster := clusterOf(t, "", manifest)
	has(t, get(t, serve(t, everything, cluster), "/?q=WEB-", http.StatusOK), "web-config", "Web-old", "web-key", "no workload uses it")
	has(t, get(t, serve(t, everything, cluster), "/?q=web-config", http.StatusOK), ">web-config<", "!no workload uses it")
	has(t, get(t, serve(t, everything, cluster), "/", http.StatusOK), "!Web-old")
	has(t, get(t, serve(t, reader{"shop/configmaps"}, cluster), "/?q=web-", http.StatusOK), "Web-old", "!web-key")
	var many strings.Builder
	for i := range mostFound + 5 {
		many.WriteString(configMap("shop", fmt.Sprintf("old-%02d", i), "a", ""))
	}
	has(t, get(t, serve(t, everything, clusterOf(t, "", many.String())), "/?q=old", http.StatusOK), "old-00", "5 more.", "!old-24")
}

func TestElementsOfDifferentNamesDiffer(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{"s", "a-b", "c"}, {"s", "a", "b-c"}, {"s", "a b", "c"}, {"s", "a", "b", "c"}, {"s", "a/b", "c"}, {"s", "", "a", "c"}} {
		one := id(parts...)
		if strings.ContainsAny(one, " \t\n") || seen[one] != nil {
			t.Errorf("%q and %q have the identifier %q", seen[one], parts, one)
		}
		seen[one] = parts
	}
}

func TestARequestForTheHeadOfAStreamEnds(t *testing.T) {
	server := serve(t, everything, shop(t, ""))
	gone, leave := context.WithCancel(t.Context())
	leave() // otherwise a stream would last as long as this test waits
	response := httptest.NewRecorder()
	server.Config.Handler.ServeHTTP(response, httptest.NewRequestWithContext(gone, http.MethodHead, "/live", nil))
	if kind := response.Header().Get("Content-Type"); response.Code != http.StatusOK || kind != "text/event-stream" || response.Body.Len() > 0 {
		t.Errorf("status %d, type %s, and the stream begins with %q", response.Code, kind, response.Body)
	}
}

func TestTheControllerAndItsLease(t *testing.T) {
	of := settings(t)
	of.Version, of.Holder, of.Assumed, of.Heard = "v1.4.0", "reroll-7d9f-x2x", "", time.Now()
	has(t, get(t, serve(t, everything, clusterWith(t, "", "", of)), "/controller", http.StatusOK), "v1.4.0", "reroll-7d9f-x2x", "lease renewed", "running")
}

// Text for a screen reader says what the lines of the map show.
func TestTheMapHasItsLinesAsText(t *testing.T) {
	cluster := clusterOf(t, "", deployment("shop", "web", auto, "configMap/web-config")+
		deployment("shop", "api", `configmap.reloader.stakater.com/reload: web-config`, "configMap/web-config", "secret/password")+
		configMap("shop", "web-config", "a", "")+secret("shop", "password", "b", ""))
	page := get(t, serve(t, everything, cluster), "/map", http.StatusOK)
	has(t, page, `A change of it rolls Deployment <bdi>api</bdi>, Deployment <bdi>web</bdi>.`, `Used without a reload by Deployment <bdi>api</bdi>.`,
		`Rolled by ConfigMap <bdi>web-config</bdi>. Uses without a reload Secret <bdi>password</bdi>.`, `aria-describedby="to/s//shop/ConfigMap/web-config"`)
	hidden := get(t, serve(t, reader{"*/deployments.apps", "*/configmaps"}, cluster), "/map", http.StatusOK)
	has(t, hidden, "Rolled by ConfigMap", "1 source you may not read", "!password")
}

func TestCommandsInSentencesNameTheContext(t *testing.T) {
	if got := inspect.OnContext("reroll resume --all", "it's west"); got != `reroll resume --all --context 'it'\''s west'` {
		t.Error(got)
	}
	page := get(t, serve(t, everything, shop(t, "east")), "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK)
	has(t, page, "nothing, until a user approves the data: reroll approve -n shop secret/password --context east")
}
