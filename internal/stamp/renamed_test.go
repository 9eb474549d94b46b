package stamp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
)

// item is an item of a ResourceList in the form that kustomize passes to functions.
func item(kind, name, affixes, former, rest string) string {
	prefixes, suffixes, _ := strings.Cut(affixes, " ")
	return fmt.Sprintf("- apiVersion: %s\n  kind: %s\n  metadata:\n    name: %s\n    annotations: {%sprefixes: %q, %ssuffixes: %q, %spreviousNames: %q}\n%s",
		map[string]string{"ConfigMap": "v1", "Secret": "v1", "Deployment": "apps/v1", "SealedSecret": "bitnami.com/v1alpha1", "ExternalSecret": "external-secrets.io/v1"}[kind],
		kind, name, kustomizeNotes, prefixes, kustomizeNotes, suffixes, kustomizeNotes, former, rest)
}

// A reference has an earlier name of its target, so stamp needs the records of kustomize.
func TestReferencesBeforeKustomizeUpdatesThem(t *testing.T) {
	workload := func(affixes, ref string) string {
		return item("Deployment", "w", affixes, "web", "  spec: {template: {spec: {containers: [{name: app, envFrom: [{"+ref+"}]}]}}}\n")
	}
	const page = "configMapRef: {name: page}"
	data := func(value string) string { return "  data: {a: " + value + "}\n" }
	const notHere = "ConfigMap page, which it needs, is not in these manifests"
	for about, tc := range map[string]struct{ items, name, want string }{
		"a prefix":                     {workload("dev- ", page) + item("ConfigMap", "dev-page", "dev- ", "page", data("one")), "dev-page", ""},
		"a suffix":                     {workload(" -x", page) + item("ConfigMap", "page-x", " -x", "page", data("one")), "page-x", ""},
		"prefixes of two layers":       {workload("a-,b- ", "configMapRef: {name: a-page}") + item("ConfigMap", "b-a-page", "a-,b- ", "page,a-page", data("one")), "b-a-page", ""},
		"a source of an outer layer":   {workload("a-,b- ", page) + item("ConfigMap", "b-page", "b- ", "page", data("one")), "b-page", ""},
		"a workload of an outer layer": {workload("b- ", page) + item("ConfigMap", "b-a-page", "a-,b- ", "page,a-page", data("one")), "b-a-page", ""},
		"the one of the same layers": {
			workload("a- ", page) + item("ConfigMap", "a-page", "a- ", "page", data("one")) + item("ConfigMap", "b-page", "b- ", "page", data("two")), "a-page", "",
		},
		"one that was never renamed": {workload(" ", page) + item("ConfigMap", "page", " ", "", data("one")) + item("ConfigMap", "b-page", "b- ", "page", data("two")), "page", ""},
		"one that has the name now":  {workload("c- ", page) + item("ConfigMap", "page", " ", "", data("one")) + item("ConfigMap", "b-page", "b- ", "page", data("two")), "page", ""},
		"a renamed one beside it":    {workload("a- ", page) + item("ConfigMap", "a-page", "a- ", "page", data("one")) + item("ConfigMap", "page", " ", "", data("two")), "a-page", ""},
		"ambiguous":                  {workload("c- ", page) + item("ConfigMap", "a-page", "a- ", "page", data("one")) + item("ConfigMap", "b-page", "b- ", "page", data("two")), "", notHere},
		"another kind":               {workload("a- ", page) + item("Secret", "a-page", "a- ", "page", "  stringData: {a: one}\n"), "", notHere},
		"what makes a Secret":        {workload("a- ", "secretRef: {name: page}") + item("SealedSecret", "a-page", "a- ", "page", "  spec: {encryptedData: {a: one}}\n"), "a-page", ""},
		"a Secret with its own name": {
			workload("a- ", "secretRef: {name: page}") + item("ExternalSecret", "a-page", "a- ", "page", "  spec: {target: {name: own}}\n"), "",
			"Secret page, which it needs, is not in these manifests",
		},
	} {
		t.Run(about, func(t *testing.T) {
			o := optionsOf(t, []byte("all\nplain\nmissing error"))
			s := New(o)
			text := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + tc.items
			if err := s.Read("all.yaml", strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			result, err := s.Stamp()
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("%v, without %q", err, tc.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			_, _ = result.WriteTo(&out)
			// A workload that references the current name has the same stamp.
			now := strings.NewReplacer("{name: page}", "{name: "+tc.name+"}", "{name: a-page}", "{name: "+tc.name+"}").Replace(text)
			if got, want := stampIn(out.String()), stampIn(stampText(t, o, now)); got != want || !digest.IsStamp(got) || got == digest.NoConfigData {
				t.Errorf("%q, and by its present name %q", got, want)
			}
		})
	}
}

func stampIn(text string) string {
	_, rest, _ := strings.Cut(text, digest.StampPrefix)
	return digest.StampPrefix + rest[:min(32, len(rest))]
}
