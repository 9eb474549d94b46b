package web

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

func keyOf(kind, namespace, name string) workload.Key {
	return workload.Key{Kind: kind, Namespace: namespace, Name: name}
}

func TestAStrangerGetsNothing(t *testing.T) {
	server := serve(t, nil, shop(t, "east"))
	for _, path := range append(paths(), "/live") {
		has(t, get(t, server, path, http.StatusUnauthorized), "show a token", "!shop", "!web-config", "!east")
	}
}

func TestAReaderWithoutPermissionsSeesNumbersAlone(t *testing.T) {
	cluster := shop(t, "")
	cluster.events = []inspect.LastEvent{{Reason: "Reloaded", Note: "of web-config"}}
	server := serve(t, reader{}, cluster)
	for _, path := range []string{"/", "/map", "/gates", "/controller", "/?q=web", "/?q=password"} {
		has(t, get(t, server, path, http.StatusOK), "!web-config", "!>password<", "!>web<", "!>shop<", "!by-hand", "!22:00")
	}
	has(t, get(t, server, "/", http.StatusOK), "2 workloads you may not read")
	for _, path := range paths() {
		if strings.HasPrefix(path, "/workload") || strings.HasPrefix(path, "/source") {
			has(t, get(t, server, path, http.StatusNotFound), "you may not read it", "!opted in")
		}
	}
}

// What is not there and what may not be read look the same. Otherwise a reader could find out names.
func TestNoAnswerTellsWhetherAnObjectExists(t *testing.T) {
	server := serve(t, reader{"shop/deployments.apps"}, shop(t, ""))
	for _, pair := range [][2]string{
		{"/source?ns=shop&kind=Secret&name=password", "/source?ns=shop&kind=Secret&name=nowhere"},
		{"/workload?ns=shop&kind=StatefulSet&name=web", "/workload?ns=shop&kind=StatefulSet&name=nowhere"},
		{"/workload?ns=other&kind=Deployment&name=web", "/workload?ns=nowhere&kind=Deployment&name=web"},
	} {
		if a, b := get(t, server, pair[0], http.StatusNotFound), get(t, server, pair[1], http.StatusNotFound); a != b {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	a, b := get(t, server, "/?q=password", http.StatusOK), get(t, server, "/?q=paszzord", http.StatusOK)
	if strings.ReplaceAll(a, "password", "paszzord") != b {
		t.Error("a search finds a Secret that the reader may not read")
	}
}

// A reader of workloads and ConfigMaps learns that there are Secrets, and not their names.
func TestNamesThatAReaderMayNotReadAreCounted(t *testing.T) {
	cluster := shop(t, "")
	cluster.events = []inspect.LastEvent{{Reason: "Reloaded", Note: "Secret password changed"}, {Reason: "Rolled", Note: "2 Pods"}}
	kinds := reader{"*/deployments.apps", "*/configmaps", "*/events", "*/pods"}
	server := serve(t, kinds, cluster)
	for _, path := range []string{"/", "/map", "/gates", "/controller", "/workload?ns=shop&kind=Deployment&name=web", "/workload?ns=shop&kind=Deployment&name=api", "/source?ns=shop&kind=ConfigMap&name=web-config"} {
		has(t, get(t, server, path, http.StatusOK), "!password")
	}
	has(t, get(t, server, "/", http.StatusOK), "web-config", "1 source you may not read", withheld)
	has(t, get(t, server, "/map", http.StatusOK), "1 source you may not read")
	has(t, get(t, server, "/gates", http.StatusOK), "names a source that you may not read")
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK), "1 source you may not read", withheld, "web-config")
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=api", http.StatusOK), "Deployment shop/api is opted in")
}

func TestAReaderOfOneNamespaceSeesThatOne(t *testing.T) {
	cluster := clusterOf(t, "", deployment("shop", "web", auto, "configMap/settings")+configMap("shop", "settings", "1", "")+
		deployment("bank", "vault", auto, "configMap/treasure")+configMap("bank", "treasure", "1", ""))
	server := serve(t, readerOf("shop"), cluster)
	for _, path := range []string{"/", "/map", "/gates", "/controller", "/?ns=bank", "/?q=vault"} {
		has(t, get(t, server, path, http.StatusOK), "!>vault", "!treasure", "!>bank")
	}
	has(t, get(t, server, "/", http.StatusOK), "web", "settings", "1 workload you may not read")
	get(t, server, "/workload?ns=bank&kind=Deployment&name=vault", http.StatusNotFound)
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK), "Deployment shop/web is opted in", "!"+withheld)
}

func TestAWorkloadShowsSourcesOfOtherNamespacesByThePermissionThere(t *testing.T) {
	cluster := clusterOf(t, "", deployment("shop", "web", `configmap.reloader.stakater.com/reload: "infra/ca"`, "configMap/settings")+configMap("shop", "settings", "1", "")+
		configMap("infra", "ca", "1", `reroll.dev/allow-from: "shop"`))
	path := "/workload?ns=shop&kind=Deployment&name=web"
	has(t, get(t, serve(t, readerOf("shop"), cluster), path, http.StatusOK), "1 source you may not read")
	has(t, get(t, serve(t, append(readerOf("shop"), readerOf("infra")...), cluster), path, http.StatusOK), "!source you may not read", "infra/ca")
}

// readerOf may read everything in one namespace.
func readerOf(namespace string) reader {
	var all reader
	for _, resource := range []string{"deployments.apps", "configmaps", "secrets", "pods", "events"} {
		all = append(all, namespace+"/"+resource)
	}
	return all
}

// The reason of a halt may name workloads of any namespace, and a plan has it even if nothing waits.
func TestTheReasonOfAHaltIsForReadersOfAllWorkloads(t *testing.T) {
	of := settings(t)
	of.Halted = metainfo.Halted{All: true, Why: "vault of bank failed"}
	cluster := clusterWith(t, "", deployment("shop", "web", auto, "configMap/settings")+configMap("shop", "settings", "1", "")+
		deployment("bank", "vault", auto, "configMap/treasure"), of)
	const source = "/source?ns=shop&kind=ConfigMap&name=settings"
	has(t, get(t, serve(t, everything, cluster), source, http.StatusOK), "vault of bank failed")
	server := serve(t, readerOf("shop"), cluster)
	for _, path := range []string{"/", "/gates", "/map", "/workload?ns=shop&kind=Deployment&name=web", source} {
		has(t, get(t, server, path, http.StatusOK), "!vault")
	}
	has(t, get(t, server, source, http.StatusOK), "Waits: "+withheld, "auto")
}

// The name of a source of another namespace, as annotations write it, opens no page that the address
// of the source itself does not open.
func TestASourceOfAnotherNamespaceNeedsPermissionThere(t *testing.T) {
	cluster := clusterOf(t, "", deployment("shop", "web", `reroll.dev/configmaps: "bank/treasure"`)+configMap("bank", "treasure", "1", ""))
	const path = "/source?ns=shop&kind=ConfigMap&name=bank%2Ftreasure"
	get(t, serve(t, readerOf("shop"), cluster), path, http.StatusNotFound)
	has(t, get(t, serve(t, readerOf("bank"), cluster), path, http.StatusOK), "<dt>Last written</dt>")
}

// What the page Controller says about freezes is what the other pages do.
func TestWhoSeesAFreezeIsWhatThePagesSay(t *testing.T) {
	const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {reroll.dev/freeze: \"by=jo reason=incident-7\"}}\n"
	cluster := clusterOf(t, "", deployment("shop", "web", auto, "configMap/settings")+configMap("shop", "settings", "1", "")+namespace)
	server := serve(t, readerOf("shop"), cluster)
	has(t, get(t, server, "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK), "on the namespace")
	has(t, get(t, server, "/controller", http.StatusOK), "who may list namespaces, or all workloads of the namespace", "or all workloads of any namespace", "all workloads of all namespaces", "sources of other namespaces")
	has(t, get(t, serve(t, reader{}, cluster), "/", http.StatusOK), "!incident-7")
}

// Flags name namespaces, and the leader is a Pod.
func TestTheSettingsAreForReadersOfTheNamespaceOfTheController(t *testing.T) {
	of := settings(t, "--namespaces-to-ignore=vault")
	of.Controller, of.Holder = "operations", "reroll-6d4f"
	cluster := clusterWith(t, "", "", of)
	has(t, get(t, serve(t, reader{}, cluster), "/controller", http.StatusOK), "in a ConfigMap that you may not read", "a Pod that you may not read", "!>vault", "!=vault", "!operations", "!reroll-6d4f")
	has(t, get(t, serve(t, reader{"operations/configmaps"}, cluster), "/controller", http.StatusOK), "--namespaces-to-ignore=vault", "operations", "!reroll-6d4f")
	has(t, get(t, serve(t, reader{"operations/pods"}, cluster), "/controller", http.StatusOK), "reroll-6d4f", "!=vault")
	has(t, get(t, serve(t, reader{}, cluster), "/controller", http.StatusOK), "readers who may list ConfigMaps in the namespace of the controller; the Pod to readers who may list Pods there")
}

// Nobody needs permission for kinds of sources that the controller does not read. An event of an
// earlier start may name one.
func TestTheHistoryIsForReadersOfWhatTheControllerReads(t *testing.T) {
	cluster := shop(t, "")
	cluster.events = []inspect.LastEvent{{Reason: "Rolled", Note: "2 of 2 Pods"}, {Reason: "Reloaded", Note: "ClusterTrustBundle hidden changed"}}
	page := get(t, serve(t, append(readerOf("shop"), "shop/secretproviderclasses.secrets-store.csi.x-k8s.io"), cluster), "/workload?ns=shop&kind=Deployment&name=web", http.StatusOK)
	has(t, page, "2 of 2 Pods", "!hidden changed")
}
