package grant_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	fromWeb = `{"group": "apps", "kind": "Deployment", "namespace": "shop"}`
	toCA    = `{"group": "", "kind": "ConfigMap", "name": "ca"}`
	toAll   = `{"group": "", "kind": "ConfigMap"}`
)

func read(t *testing.T, from, to string, at uint32) *grant.Grant {
	t.Helper()
	var spec map[string]any
	if err := json.Unmarshal([]byte(`{"from": [`+from+`], "to": [`+to+`]}`), &spec); err != nil {
		t.Fatal(err)
	}
	return grant.Read(spec, at, at)
}

func TestWhatAReferenceGrantAllows(t *testing.T) {
	var many string
	for i := range 16 {
		many += fmt.Sprintf(`{"group": "apps", "kind": "Deployment", "namespace": "ns-%d"}, `, i)
	}
	for about, tc := range map[string]struct {
		from, to string
		want     bool
	}{
		"all of it":                    {fromWeb, toCA, true},
		"all ConfigMaps":               {fromWeb, toAll, true},
		"one of several entries":       {`{"group": "batch", "kind": "CronJob", "namespace": "shop"}, ` + fromWeb, `{"group": "", "kind": "Service"}, ` + toCA, true},
		"another group":                {`{"group": "argoproj.io", "kind": "Deployment", "namespace": "shop"}`, toAll, false},
		"no group":                     {`{"kind": "Deployment", "namespace": "shop"}`, toAll, false},
		"another kind":                 {`{"group": "apps", "kind": "StatefulSet", "namespace": "shop"}`, toAll, false},
		"another namespace":            {`{"group": "apps", "kind": "Deployment", "namespace": "bank"}`, toAll, false},
		"a star is only a character":   {`{"group": "apps", "kind": "Deployment", "namespace": "*"}`, toAll, false},
		"parts of two entries":         {`{"group": "apps", "kind": "Deployment", "namespace": "bank"}, {"group": "apps", "kind": "DaemonSet", "namespace": "shop"}`, toAll, false},
		"another source":               {fromWeb, `{"group": "", "kind": "ConfigMap", "name": "cb"}`, false},
		"a Secret":                     {fromWeb, `{"group": "", "kind": "Secret", "name": "ca"}`, false},
		"a ConfigMap of another group": {fromWeb, `{"group": "example.org", "kind": "ConfigMap"}`, false},
		"an empty name":                {fromWeb, `{"group": "", "kind": "ConfigMap", "name": ""}`, false},
		"a name that is no text":       {fromWeb, `{"group": "", "kind": "ConfigMap", "name": 1}`, false},
		"a name that is null":          {fromWeb, `{"group": "", "kind": "ConfigMap", "name": null}`, false},
		"the entry is no object":       {`"Deployment"`, toAll, false},
		"nothing":                      {"", "", false},
		"one entry too many":           {many + fromWeb, toAll, false},
	} {
		g := read(t, tc.from, tc.to, 1)
		from := grant.Of(&workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, APIVersion: "apps/v1"})
		if got := g.Allows(from, source.LocalKey{Kind: source.ConfigMap, Name: "ca"}); got != tc.want {
			t.Errorf("%s: allowed %t", about, got)
		}
	}
	if grant.Read(map[string]any{"from": "shop", "to": 1}, 0, 0) != nil {
		t.Error("fields of other types allow something")
	}
	if read(t, fromWeb, `{"group": "", "kind": "Service"}`, 1) != nil {
		t.Error("a grant that is not about sources takes memory")
	}
}

func TestTheGroupOfAWorkload(t *testing.T) {
	for about, tc := range map[string]struct {
		version, kind string
		want          grant.From
	}{
		"built in":       {"apps/v1", "Deployment", grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}},
		"custom":         {"example.org/v1", "Pool.example.org", grant.From{Group: "example.org", Kind: "Pool", Namespace: "shop"}},
		"the core group": {"v1", "Pod", grant.From{Kind: "Pod", Namespace: "shop"}},
	} {
		if got := grant.Of(&workload.Workload{Key: workload.Key{Kind: tc.kind, Namespace: "shop"}, APIVersion: tc.version}); got != tc.want {
			t.Errorf("%s: %+v", about, got)
		}
	}
}

// A set allows what any of its grants does. The oracle is a map that forgets no name.
func TestRandomSetsOfGrants(t *testing.T) {
	ca := source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		var set *grant.Set
		all := map[string]bool{}
		for range 150 {
			name := fmt.Sprintf("g-%02d", r.IntN(60))
			before := set.Names()
			unchanged := slices.Clone(before)
			if r.IntN(3) == 0 {
				set, _ = set.With(name, nil)
				delete(all, name)
			} else {
				all[name] = r.IntN(20) == 0
				to := `{"group": "", "kind": "ConfigMap", "name": "other"}`
				if all[name] {
					to = toCA
				}
				set, _ = set.With(name, read(t, fromWeb, to, 5))
			}
			if !slices.Equal(before, unchanged) {
				t.Fatalf("seed %d: an earlier set has changed", seed)
			}
			want := slices.Contains(slices.Collect(maps.Values(all)), true)
			if _, got := set.Allows(grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}, ca); got != want {
				t.Fatalf("seed %d: allowed %t, want %t", seed, got, want)
			}
			if !slices.Equal(set.Names(), slices.Sorted(maps.Keys(all))) {
				t.Fatalf("seed %d: %v", seed, set.Names())
			}
		}
	}
}

func TestTheFirstGrantsByNameCount(t *testing.T) {
	var set *grant.Set
	var excess *grant.Grant
	other := read(t, fromWeb, `{"group": "", "kind": "Secret"}`, 0)
	for i := range grant.Most {
		if set, excess = set.With(fmt.Sprintf("m-%03d", i), other); excess != nil {
			t.Fatalf("%d are too many", i)
		}
	}
	mine := read(t, fromWeb, toCA, 9)
	from, ca := grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}, source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	late, excess := set.With("z", mine)
	if _, allows := late.Allows(from, ca); allows || excess != mine || len(late.Names()) != grant.Most {
		t.Errorf("the last one counts: %v", late.Names())
	}
	early, excess := set.With("a", mine)
	if since, allows := early.Allows(from, ca); !allows || since != 9 || excess != other || len(early.Names()) != grant.Most {
		t.Errorf("the first one does not count: %v", early.Names())
	}
}

func TestSinceWhenASetAllows(t *testing.T) {
	from, ca := grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}, source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	for about, tc := range map[string]struct {
		times []uint32
		want  uint32
	}{
		"one":                {[]uint32{7}, 7},
		"the earlier":        {[]uint32{7, 5}, 5},
		"unknown":            {[]uint32{0}, 0},
		"one of two unknown": {[]uint32{0, 7}, 7},
	} {
		var set *grant.Set
		for i, at := range tc.times {
			set, _ = set.With(fmt.Sprint(i), read(t, fromWeb, toAll, at))
		}
		if since, allows := set.Allows(from, ca); !allows || since != tc.want {
			t.Errorf("%s: since %d", about, since)
		}
	}
}

func TestNoGrantExistedBefore(t *testing.T) {
	from, ca := grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}, source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	var set *grant.Set
	for i, step := range []struct {
		to   string
		at   uint32
		want uint32
	}{{`{"group": "", "kind": "Secret"}`, 3, 0}, {toCA, 7, 7}, {toAll, 9, 7}, {toAll, 5, 5}, {toCA, 0, 0}} {
		if got := set.NotBefore(from, ca); i == 0 && got != 0 {
			t.Errorf("an empty set: %d", got)
		}
		set, _ = set.With(fmt.Sprint(i), read(t, fromWeb, step.to, step.at))
		if got := set.NotBefore(from, ca); got != step.want {
			t.Errorf("step %d: not before %d, want %d", i, got, step.want)
		}
	}
}

func TestEqualGrants(t *testing.T) {
	one, same, other := read(t, fromWeb, toCA, 1), read(t, fromWeb, toCA, 2), read(t, fromWeb, toAll, 1)
	if !one.Equal(same) || one.Equal(other) || one.Equal(nil) || !(*grant.Grant)(nil).Equal(nil) {
		t.Error("Equal is wrong about grants")
	}
	var empty *grant.Set
	with, _ := empty.With("a", one)
	renamed, _ := empty.With("b", one)
	again, _ := empty.With("a", same)
	if !with.Equal(again) || with.Equal(renamed) || with.Equal(nil) || !empty.Equal(nil) {
		t.Error("Equal is wrong about sets")
	}
}
