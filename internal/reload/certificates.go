package reload

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// certificates are those of the current data of the sources. Those of missing sources stay as long
// as their entries in the ledger.
func (f *Facts) certificates(known, next ledger.Ledger) map[string]source.Certificate {
	var all map[string]source.Certificate
	put := func(name string, c source.Certificate) {
		if all == nil {
			all = map[string]source.Certificate{} // most workloads have none
		}
		all[name] = c
	}
	for name, c := range known.Certificates {
		if _, stays := next.Entries[source.LocalKey{Kind: source.Secret, Name: name}]; stays {
			put(name, c)
		}
	}
	for i := range f.Concerns {
		src := &f.Concerns[i].Source
		switch {
		case src.Key.Kind != source.Secret, src.Key.IsForeign():
		case !src.Certificate.IsZero():
			put(src.Key.Name, src.Certificate)
		default:
			delete(all, src.Key.Name)
		}
	}
	return firstToExpire(all)
}

// firstToExpire are as many certificates as a ledger may have.
func firstToExpire(all map[string]source.Certificate) map[string]source.Certificate {
	length := 0
	for name := range all {
		length += len(name)
	}
	if len(all) <= ledger.MaxCertificates && length <= ledger.MaxCertificateNames {
		return all
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[a].NotAfter, all[b].NotAfter), strings.Compare(a, b))
	})
	length = 0
	for i, name := range names {
		if length += len(name); i >= ledger.MaxCertificates || length > ledger.MaxCertificateNames {
			delete(all, name)
		}
	}
	return all
}
