package web

import (
	"cmp"
	"net/url"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Addresses are relative, and all pages are in one directory, so that they work below any prefix.

// address returns the address of a page with names and values. The last value of a name counts, and an
// empty one leaves the name out.
func address(page string, pairs ...string) string {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Del(pairs[i])
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return page
	}
	return page + "?" + query.Encode()
}

func workloadAddress(cluster string, key workload.Key) string {
	return address("workload", "cluster", cluster, "ns", key.Namespace, "kind", key.Kind, "name", key.Name)
}

func sourceAddress(cluster, namespace string, key source.LocalKey) string {
	origin := key.In(namespace).Origin()
	return address("source", "cluster", cluster, "ns", cmp.Or(origin.Namespace, namespace), "kind", key.Kind.String(), "name", origin.Name)
}
