package argocd

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDifferingNamesTheFields(t *testing.T) {
	t.Parallel()
	const live = `{"spec": {"replicas": 5, "env": [{"name": "A"}]}, "metadata": {"annotations": {"b": "c"}}}`
	for name, test := range map[string]struct {
		wanted string
		fields []string
	}{
		"nothing":            {live, nil},
		"a number":           {`{"spec": {"replicas": 2, "env": [{"name": "A"}]}, "metadata": {"annotations": {"b": "c"}}}`, []string{"spec.replicas"}},
		"a list":             {`{"spec": {"replicas": 5, "env": []}, "metadata": {"annotations": {"b": "c"}}}`, []string{"spec.env"}},
		"one key more":       {`{"spec": {"replicas": 5, "env": [{"name": "A"}]}, "metadata": {"annotations": {"b": "c", "d": "e"}}}`, []string{"metadata.annotations.d"}},
		"one less and other": {`{"spec": {"replicas": 2, "env": [{"name": "A"}]}, "metadata": {"annotations": {}}}`, []string{"metadata.annotations.b", "spec.replicas"}},
		"no such object":     {`null`, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b any
			if err := json.Unmarshal([]byte(live), &a); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.wanted), &b); err != nil {
				t.Fatal(err)
			}
			got := differing("", a, b)
			slices.Sort(got)
			if diff := cmp.Diff(test.fields, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
