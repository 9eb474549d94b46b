package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// otherSets are the programs beside Kubernetes that some tests need, by the names for BuildOther.
func otherSets() map[string][]set {
	return map[string][]set{
		"argo-rollouts": {rolloutsSet()},
		"argo-cd":       {argoCDSet(), argoCDHelm()},
		"flux":          {fluxSet()},
		"clients":       clientSets(),
		"real-nodes":    {realNodeSet()},
		"secrets-store": {secretsStoreSet()},
	}
}

// OtherNames are the names that BuildOther takes.
func OtherNames() []string { return slices.Sorted(maps.Keys(otherSets())) }

// BuildOther builds programs beside Kubernetes, if that was not done yet. A test that needs them
// builds them as well, but then that counts as time of the test.
func BuildOther(ctx context.Context, progress io.Writer, names ...string) error {
	for _, name := range names {
		sets, ok := otherSets()[name]
		if !ok {
			return fmt.Errorf("there is no program %q: name any of %s", name, strings.Join(OtherNames(), ", "))
		}
		for _, s := range sets {
			if _, err := buildSet(ctx, s, progress); err != nil {
				return err
			}
		}
	}
	return nil
}
