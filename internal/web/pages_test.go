package web

import (
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// shop is a cluster with a Secret that waits for approval, a ConfigMap that has changed, and a
// workload that is not opted in.
func shop(tb testing.TB, name string) *shelf {
	tb.Helper()
	const approval = `reroll.dev/approval: "required"`
	objects := func(web, api, old string) string {
		return deployment("shop", "web", web, "configMap/web-config", "secret/password") +
			deployment("shop", "api", api, "configMap/web-config") +
			deployment("shop", "by-hand", `team: "x"`, "configMap/web-config") +
			configMap("shop", "web-config", old, "") + secret("shop", "password", "s3cr3t-"+old, approval) +
			"---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {reroll.dev/window: \"allow 22:00-04:00 mon-fri UTC\"}}\n"
	}
	before := clusterOf(tb, name, objects(auto, auto, "before"))
	return clusterOf(tb, name, objects(adopted(tb, before, "shop", "web", auto), adopted(tb, before, "shop", "api", auto), "now"))
}

// paths are all pages of a cluster.
func paths() []string {
	return []string{
		"/", "/?state=waiting", "/?q=password", "/?state=not-opted-in", "/map", "/map?ns=shop", "/gates", "/controller",
		"/workload?ns=shop&kind=Deployment&name=web", "/workload?ns=shop&kind=Deployment&name=api", "/workload?ns=shop&kind=Deployment&name=by-hand",
		"/source?ns=shop&kind=Secret&name=password", "/source?ns=shop&kind=ConfigMap&name=web-config", "/source?ns=shop&kind=ConfigMap&name=nowhere",
	}
}

func TestPagesSayWhatTheCommandsSay(t *testing.T) {
	server := serve(t, everything, shop(t, ""))
	has(t, get(t, server, "/", http.StatusOK), "web", "api", "waiting", "ConfigMap", "password", "!by-hand", "jane", "1.2.3")
	has(t, get(t, server, "/?state=not-opted-in", http.StatusOK), "by-hand")
	has(t, get(t, server, "/map", http.StatusOK), "web-config", "password", "data-uses=", "0 of 2 with current data")
	has(t, get(t, server, "/gates", http.StatusOK), "Waiting for approval", "reroll approve -n shop secret/password", "allow 22:00-04:00 mon-fri UTC", "Windows")
	has(t, get(t, server, "/controller", http.StatusOK), "reroll", "deployments.apps", "The controller reads")
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK),
		"Deployment shop/web is opted in", "envFrom of app", "rolls it", "different from the ledger", "reroll approve -n shop secret/password", "no reload yet")
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=by-hand", http.StatusOK), "not opted in", "kubectl annotate --overwrite -n shop deployment/by-hand")
	has(t, get(t, server, "/source?ns=shop&kind=ConfigMap&name=web-config", http.StatusOK), "rolls <strong>2 workloads, 4 Pods in all</strong>", "by-hand", "auto")
	has(t, get(t, server, "/source?ns=shop&kind=ConfigMap&name=nowhere", http.StatusOK), "It does not exist")
}

// Pages name the keys that count in the words of the commands.
func TestPagesShowWhichKeysCount(t *testing.T) {
	const only = `reroll.dev/keys: "configmap/web-config=!banner"`
	server := serve(t, everything, clusterOf(t, "", deployment("shop", "web", auto+", "+only, "configMap/web-config")+
		deployment("shop", "api", auto+`, reroll.dev/keys: used`, "configMap/web-config")+configMap("shop", "web-config", "x", "")))
	const counts = "keys that count: all keys except banner (reroll.dev/keys on the workload)"
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK), counts)
	has(t, get(t, server, "/source?ns=shop&kind=ConfigMap&name=web-config", http.StatusOK), counts, "all keys count: envFrom of app uses the whole source (reroll.dev/keys on the workload: used)")
}

// The digests of the Secret, in the notations of the ledger and of Reloader's marks.
func TestNoPageShowsDataOrDigestsOfSecrets(t *testing.T) {
	cluster := shop(t, "")
	x, err := cluster.Explain(t.Context(), keyOf("Deployment", "shop", "web"), false)
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"s3cr3t", "czNjcjN0", "--digest", x.Consent.String()}
	for _, change := range x.Decision.Changes {
		secrets = append(secrets, change.Source.Digest.String())
	}
	for _, digest := range x.Ledger.Entries {
		secrets = append(secrets, digest.String())
	}
	if len(secrets) < 6 {
		t.Fatalf("only %d secrets to look for", len(secrets))
	}
	for _, secret := range secrets[2:] {
		cluster.events = append(cluster.events, inspect.LastEvent{Reason: "ApprovalRequested", Note: inspect.WithoutDigests("To approve: reroll approve -n shop secret/password --digest=" + secret)})
	}
	server := serve(t, everything, cluster)
	for _, path := range paths() {
		page := get(t, server, path, http.StatusOK)
		for _, secret := range secrets {
			if strings.Contains(page, secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
}

var attribute = regexp.MustCompile(`\s(href|src|action)="([^"]*)"`)

// An Ingress or the proxy of the API server serves the pages below a path that they do not know.
func TestAllLinksAreRelativeAndLeadSomewhere(t *testing.T) {
	const prefix = "/api/v1/namespaces/reroll/services/reroll:ui/proxy/"
	server := serveBelow(t, prefix, everything, shop(t, ""))
	seen := map[string]bool{}
	for _, path := range paths() {
		base, err := url.Parse(server.URL + strings.TrimSuffix(prefix, "/") + path)
		if err != nil {
			t.Fatal(err)
		}
		page := get(t, server, strings.TrimSuffix(prefix, "/")+path, http.StatusOK)
		for _, found := range attribute.FindAllStringSubmatch(page, -1) {
			link := strings.ReplaceAll(found[2], "&amp;", "&")
			to, err := base.Parse(link)
			if err != nil || strings.HasPrefix(link, "/") || !strings.HasPrefix(to.Path, prefix) {
				t.Errorf("%s has the link %q", path, link)
				continue
			}
			if target := to.Path + "?" + to.RawQuery; !seen[target] && !strings.HasPrefix(link, "#") {
				seen[target] = true
				get(t, server, target, http.StatusOK)
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d links", len(seen))
	}
}

func TestNothingIsLoadedOrRunThatIsNotInAFile(t *testing.T) {
	server := serve(t, everything, shop(t, ""))
	inline := regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+="|<script(?: defer)?>|javascript:|<script[^>]*>[^<]`)
	for _, path := range append(paths(), "/workload?ns=shop&kind=Deployment&name=nowhere", "/live-not", "/assets/reroll.js") {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Content-Type-Options":  "nosniff",
		} {
			if got := response.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		if response.StatusCode == http.StatusOK && !strings.HasSuffix(path, ".js") {
			if found := inline.FindString(get(t, server, path, http.StatusOK)); found != "" {
				t.Errorf("%s has %q", path, found)
			}
		}
	}
}

// The pages have no build step, so what browsers run has to stay readable.
func TestTheScriptAndTheStyleSheetAreShort(t *testing.T) {
	const most = 600
	lines := 0
	for _, name := range []string{"assets/reroll.js", "assets/reroll.css"} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			lines++
			if len(line) > 200 {
				t.Errorf("%s has a line of %d characters", name, len(line))
			}
		}
	}
	all, err := fs.Glob(files, "assets/*")
	if err != nil || len(all) != 3 {
		t.Errorf("the assets are %v", all)
	}
	if lines > most {
		t.Errorf("%d lines of JavaScript and CSS, more than %d", lines, most)
	}
}

func TestHostileNamesAreText(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 60)+".", 4), ".")
	hostile := `<script>alert(1)</script>,"><img src=x onerror=alert(2)>,` + "\u202eevil,مرحبا"
	cluster := clusterOf(t, `<b>&"'`, deployment("shop", long[:200], auto+`, configmap.reloader.stakater.com/reload: "`+strings.ReplaceAll(hostile, `"`, `\"`)+`", reroll.dev/window: "<i>never</i>"`, "configMap/"+long)+
		configMap("shop", long, "1", ""))
	other := clusterOf(t, "second", "")
	cluster.events = []inspect.LastEvent{{Reason: "<u>", Note: "<script>alert(3)</script>"}}
	server := serve(t, everything, cluster, other)
	query := url.Values{"cluster": {`<b>&"'`}, "ns": {"shop"}, "kind": {"Deployment"}, "name": {long[:200]}}.Encode()
	for _, path := range []string{"/", "/?q=%3Cscript%3Ealert%284%29%3C%2Fscript%3E&ns=%22%3E%3Cscript%3E", "/map", "/gates", "/controller", "/workload?" + query, "/?kind=%3Cscript%3E&state=%3Cscript%3E"} {
		page := get(t, server, path, http.StatusOK)
		has(t, page, "!<script>alert", "!<img src=x", "!<i>never", "!<u>", "!<b>&", "!ZgotmplZ", "!\"><script>")
	}
	has(t, get(t, server, "/workload?"+query, http.StatusOK), "<bdi class=\"h\">"+long[:200], "&lt;script&gt;alert(1)")
}

func TestAClusterThatCannotBeReadIsAStateOfThePage(t *testing.T) {
	broken := inspect.NewView("west", clock.RealClock{})
	broken.Fail("dial tcp: refused")
	server := serve(t, everything, shop(t, "east"), broken)
	for _, path := range []string{"/", "/map", "/gates", "/controller"} {
		has(t, get(t, server, path, http.StatusOK), "west", "cannot be read", "dial tcp: refused")
	}
	has(t, get(t, server, "/", http.StatusOK), "east", "web")
	has(t, get(t, server, "/?cluster=west", http.StatusOK), "Nothing matches")
	has(t, get(t, server, "/workload?cluster=west&ns=shop&kind=Deployment&name=web", http.StatusServiceUnavailable), "was not read yet")
	has(t, get(t, server, "/workload?cluster=north&ns=shop&kind=Deployment&name=web", http.StatusNotFound), "no cluster of this name")
	has(t, get(t, server, "/workload?cluster=east&ns=shop&kind=Deployment&name=web", http.StatusOK), "Deployment shop/web is opted in")
}

func TestAnEmptyClusterSaysHowToBegin(t *testing.T) {
	server := serve(t, everything, clusterOf(t, "", ""))
	has(t, get(t, server, "/", http.StatusOK), "No workload is opted in", "reloader.stakater.com/auto")
	has(t, get(t, server, "/map", http.StatusOK), "No workload is opted in")
	has(t, get(t, server, "/gates", http.StatusOK), "Nothing waits")
	unread := serve(t, everything, inspect.NewView("", clock.RealClock{}))
	has(t, get(t, unread, "/", http.StatusOK), "Reading")
}

func TestAListIsFilteredAndSplit(t *testing.T) {
	var manifest strings.Builder
	for _, namespace := range []string{"one", "two"} {
		for i := range 70 {
			manifest.WriteString(deployment(namespace, "web-"+string(rune('a'+i/26))+string(rune('a'+i%26)), auto, "configMap/settings"))
		}
		manifest.WriteString(configMap(namespace, "settings", "1", ""))
	}
	server := serve(t, everything, clusterOf(t, "", manifest.String()))
	has(t, get(t, server, "/", http.StatusOK), "<b>140</b>", "9–50 of 140", `rel="next"`, "!rel=\"prev\"")
	has(t, get(t, server, "/?page=2", http.StatusOK), "101–140 of 140", `rel="prev"`, "!rel=\"next\"")
	has(t, get(t, server, "/?page=99", http.StatusOK), "101–140 of 140")
	has(t, get(t, server, "/?page=-3&ns=two", http.StatusOK), "1–50 of 70", "page=1")
	has(t, get(t, server, "/?q=web-ab", http.StatusOK), "<b>2</b>", "!of 140")
	has(t, get(t, server, "/?q=SETTINGS&ns=one", http.StatusOK), "<b>70</b>")
	has(t, get(t, server, "/?kind=StatefulSet", http.StatusOK), "Nothing matches")
	// So many are shown by namespace first.
	has(t, get(t, server, "/map", http.StatusOK), "140 workloads", "map?ns=one", "!data-uses")
	has(t, get(t, server, "/map?ns=one", http.StatusOK), "data-uses", "1–60 of 70")
}
