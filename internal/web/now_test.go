package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// inOrder fails unless a page has the texts one after the other.
func inOrder(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("%q is not there, or not after those before it:\n%s", text, page)
		}
		rest = after
	}
}

func TestWhatNeedsSomebodyIsFirst(t *testing.T) {
	server := serve(t, everything, shop(t, ""))
	page := get(t, server, "/", http.StatusOK)
	inOrder(t, page, `id="urgent"`, ">api<", ">web<", `id="numbers"`, `class="filters"`, `id="workloads"`, "No other workload", `id="reloads"`)
	for _, path := range []string{"/?q=web", "/?state=waiting", "/?ns=shop"} {
		searched := get(t, server, path, http.StatusOK)
		has(t, searched, `!id="urgent"`, "!No other workload")
		inOrder(t, searched, `id="numbers"`, `id="workloads"`, ">web<")
	}
}

// A list that is split goes on where the top of the page ends.
func TestNoWorkloadIsListedTwice(t *testing.T) {
	var manifest strings.Builder
	for i := range 60 {
		manifest.WriteString(deployment("shop", fmt.Sprintf("lacks-%02d", i), auto, "configMap/nowhere"))
	}
	server := serve(t, everything, clusterOf(t, "", manifest.String()))
	var all []string
	for _, path := range []string{"/", "/?page=1"} {
		for _, part := range strings.Split(get(t, server, path, http.StatusOK), `<tr id="`)[1:] {
			id, _, _ := strings.Cut(part, `"`)
			all = append(all, id)
		}
	}
	if !slices.IsSorted(all) || len(all) != 60 || len(slices.Compact(slices.Clone(all))) != 60 {
		t.Errorf("%d rows: %v", len(all), all)
	}
	page := get(t, server, "/", http.StatusOK)
	inOrder(t, page, `id="urgent"`, "lacks-07", `id="numbers"`, "lacks-08", "9–50 of 60")
	has(t, get(t, server, "/?page=1", http.StatusOK), "51–60 of 60")
}

func TestACalmClusterSaysSo(t *testing.T) {
	manifest := deployment("shop", "web", auto, "configMap/settings") + configMap("shop", "settings", "1", "")
	before := clusterOf(t, "", manifest)
	calm := clusterOf(t, "", strings.Replace(manifest, auto, adopted(t, before, "shop", "web", auto), 1))
	inOrder(t, get(t, serve(t, everything, calm), "/", http.StatusOK), `id="urgent"`, "Nothing is stuck", `id="numbers"`, ">web<")
	has(t, get(t, serve(t, everything, clusterOf(t, "", "")), "/", http.StatusOK), "!Nothing is stuck", "No workload is opted in")
	has(t, get(t, serve(t, reader{}, calm), "/", http.StatusOK), "!Nothing is stuck", "1 workload you may not read")
}
