package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

// stopped is a cluster whose waves have failed.
type stopped struct{ *shelf }

func (s stopped) Waves(keys []inspect.FleetKey) ([]inspect.Waves, error) {
	all, err := s.shelf.Waves(keys)
	for i := range all {
		all[i].Stopped = "web failed with the data of Secret hidden-name"
		for _, w := range all[i].Waves {
			for j := range w.Members {
				w.Members[j].State, w.Members[j].Why = gate.Failed, "misses Secret hidden-name"
			}
		}
	}
	return all, err
}

// soaking is a cluster whose waves wait for the soak time of a workload.
type soaking struct{ *shelf }

func (s soaking) Waves(keys []inspect.FleetKey) ([]inspect.Waves, error) {
	all, err := s.shelf.Waves(keys)
	for i := range all {
		for _, w := range all[i].Waves {
			for j := range w.Members {
				m := &w.Members[j]
				m.State, m.Soaking, m.Why = gate.Running, true, "has to stay available until noon"
			}
		}
	}
	return all, err
}

// The rollout of a workload that soaks has ended, as the page Now shows.
func TestAWorkloadThatSoaksIsUpToDate(t *testing.T) {
	cluster := soaking{fleetOf(t, "")}
	for _, who := range []reader{everything, {"*/deployments.apps", "*/configmaps"}} {
		has(t, get(t, serve(t, who, cluster), "/gates", http.StatusOK), "s-up-to-date", "has to stay available until noon", "!s-in-progress")
	}
}

// fleetOf is a cluster with a Secret that rolls a workload in waves.
func fleetOf(tb testing.TB, name string) *shelf {
	tb.Helper()
	return clusterOf(tb, name, deployment("shop", "web", auto, "secret/hidden-name")+secret("shop", "hidden-name", "x", `reroll.dev/max-rolling: "1"`))
}

func TestWavesNameNoSourceThatMayNotBeRead(t *testing.T) {
	cluster := stopped{fleetOf(t, "")}
	has(t, get(t, serve(t, everything, cluster), "/gates", http.StatusOK),
		"max-rolling on Secret hidden-name", "web failed with the data", "misses Secret", "reroll resume -n shop secret/hidden-name")
	server := serve(t, reader{"*/deployments.apps", "*/configmaps"}, cluster)
	has(t, get(t, server, "/gates", http.StatusOK), "A source that you may not read", withheld, "web", "!hidden-name", "!misses")
}

const frozenShop = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {reroll.dev/freeze: \"by=jo reason=incident-7\"}}\n"

// halting is a cluster with an entry in each part of the page.
func halting(tb testing.TB, name string) Cluster {
	tb.Helper()
	of := settings(tb)
	of.Halted = metainfo.Halted{All: true, Why: "web of shop failed"}
	return stopped{clusterWith(tb, name, deployment("shop", "web", auto, "secret/hidden-name")+secret("shop", "hidden-name", "x", `reroll.dev/max-rolling: "1"`)+frozenShop, of)}
}

func TestCommandsNameTheContextThatWasGiven(t *testing.T) {
	const thaw, resume, all = "<code>reroll thaw -n shop", "<code>reroll resume -n shop secret/hidden-name", "<code>reroll resume --all"
	has(t, get(t, serve(t, everything, halting(t, "")), "/gates", http.StatusOK), thaw+"</code>", resume+"</code>", all+"</code>")
	one := serveWith(t, "/", everything, Options{Context: "east"}, halting(t, ""))
	has(t, get(t, one, "/gates", http.StatusOK), thaw+" --context east</code>", resume+" --context east</code>", all+" --context east</code>")
	both := serve(t, everything, halting(t, "east"), halting(t, "it's west"))
	page := get(t, both, "/gates", http.StatusOK)
	for _, command := range []string{thaw, resume, all} {
		has(t, page, command+" --context east</code>", command+` --context &#39;it&#39;\&#39;&#39;s west&#39;</code>`)
	}
	has(t, get(t, both, "/", http.StatusOK), thaw+" --context east</code>")
	approving := serve(t, everything, shop(t, "east"), shop(t, "west"))
	const approve = "<code>reroll approve -n shop secret/password --context west</code>"
	has(t, get(t, approving, "/gates", http.StatusOK), approve)
	has(t, get(t, approving, "/workload?cluster=west&ns=shop&kind=Deployment&name=web", http.StatusOK), approve)
	has(t, get(t, approving, "/workload?cluster=west&ns=shop&kind=Deployment&name=by-hand", http.StatusOK), "kubectl annotate", " --context west</code>")
}

func TestEntriesOfSeveralClustersNameTheirs(t *testing.T) {
	page := get(t, serve(t, everything, halting(t, "east"), halting(t, "west")), "/gates", http.StatusOK)
	has(t, page, "<bdi>west</bdi>: <bdi>Namespace shop", "<bdi>west</bdi> / <bdi>shop</bdi>")
	both := serve(t, everything, shop(t, "east"), shop(t, "west"))
	has(t, get(t, both, "/gates", http.StatusOK), "<bdi>west</bdi> / <bdi>shop</bdi>", "in <bdi>west</bdi> / <bdi>shop</bdi>")
	has(t, get(t, serve(t, everything, halting(t, "east"), halting(t, "west")), "/", http.StatusOK), "<bdi>west</bdi>: <bdi>Namespace shop")
	has(t, get(t, serve(t, everything, shop(t, "")), "/gates", http.StatusOK), "!<bdi></bdi>")
}

// What a page leaves out is counted.
func TestLongListsOfThePageGatesAreCounted(t *testing.T) {
	var manifest strings.Builder
	for i := range 23 {
		name, secretName := fmt.Sprintf("web-%02d", i), fmt.Sprintf("secret-%02d", i)
		manifest.WriteString(deployment("shop", name, auto+fmt.Sprintf(`, reroll.dev/window: "allow 22:%02d-23:59 mon UTC"`, i), "secret/"+secretName))
		manifest.WriteString(secret("shop", secretName, "x", `reroll.dev/max-rolling: "1"`))
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team-%02d, annotations: {reroll.dev/freeze: \"by=jo\"}}\n", i)
	}
	server := serve(t, everything, clusterOf(t, "", manifest.String()))
	page := get(t, server, "/gates", http.StatusOK)
	has(t, page, "Secret</span> <bdi class=\"name\">secret-19", "!secret-20", "3 more sources have waves", "team-04", "!team-05", "Frozen: 18 more namespaces", "22:11-", "!22:12-", "11 more windows")
	has(t, get(t, server, "/", http.StatusOK), "team-04", "Frozen: 18 more namespaces")
	has(t, get(t, serve(t, everything, shop(t, "")), "/gates", http.StatusOK), "!more windows", "!more sources", "!more namespaces")
}
