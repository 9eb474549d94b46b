package stamp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/test/cluster"
)

const (
	library = "charts/reroll-checksum"
	example = "examples/checksum"
)

var plainDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// The example takes the library chart as its README says, and gets another checksum for other data
// alone.
func TestTheLibraryChartSumsUpData(t *testing.T) {
	bothHelms(t, func(t *testing.T, helm func(cluster.Clients) string) {
		u := newUser(t, library, example)
		u.run(helm(u.Clients), "dependency", "update", example)
		u.run(helm(u.Clients), "lint", "--strict", library, example)
		of := func(values ...string) string {
			u.Helper()
			args := []string{"template", "web", example}
			for _, v := range values {
				args = append(args, "--set="+v)
			}
			return u.checksum(u.run(helm(u.Clients), args...))
		}
		before := of()
		if !plainDigest.MatchString(before) || digest.IsStamp(before) {
			t.Errorf("the checksum of the example is %q", before)
		}
		if got := of("page="); got != digest.NoConfigData {
			t.Errorf("without data it is %q", got)
		}
		if got := of("labels.team=shop"); got != before {
			t.Errorf("another label makes %s of %s", got, before)
		}
		seen := map[string]string{before: "the example"}
		for _, values := range [][]string{{"page=Goodbye"}, {"password=a"}, {"password=b"}, {"page=", "password=a"}} {
			about := strings.Join(values, " ")
			got := of(values...)
			if seen[got] != "" || !plainDigest.MatchString(got) {
				t.Errorf("%s: it is %q, as of %s", about, got, seen[got])
			}
			seen[got] = about
		}
	})
}

const sources = `apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {x: "1", y: "2"}
---
apiVersion: v1
kind: Secret
metadata: {name: b}
stringData: {z: "3"}
`

// What says the same has the same checksum, however it is written, and what does not has another
// one.
func TestTheLibraryChartReadsManifests(t *testing.T) {
	bothHelms(t, func(t *testing.T, helm func(cluster.Clients) string) {
		u := newUser(t, library, example)
		u.run(helm(u.Clients), "dependency", "update", example)
		u.write(example+"/templates/secret.yaml", "")
		of := func(text string) (string, error) {
			u.write(example+"/templates/configmap.yaml", text)
			all, err := u.try(helm(u.Clients), "template", "web", example, "--namespace=shop", "--show-only=templates/deployment.yaml")
			if err != nil {
				return "", err
			}
			return u.checksum(all), nil
		}
		before, err := of(sources)
		if err != nil {
			t.Fatal(err)
		}
		edit := func(from, to string) string {
			u.Helper()
			if !strings.Contains(sources, from) {
				u.Fatalf("%q is not in the manifests", from)
			}
			return strings.Replace(sources, from, to, 1)
		}
		configMap, _, _ := strings.Cut(sources, "---")
		for about, tc := range map[string]struct {
			text string
			same bool
		}{
			"another order of keys":   {edit(`x: "1", y: "2"`, `y: "2", x: "1"`), true},
			"the namespace said":      {edit("{name: a}", "{name: a, namespace: shop}"), true},
			"an annotation":           {edit("{name: b}", "{name: b, annotations: {c: d}}"), true},
			"data in base64":          {edit(`stringData: {z: "3"}`, "data: {z: Mw==}"), true},
			"overridden":              {edit("stringData:", "data: {z: NA==}\nstringData:"), true},
			"a comment at the marker": {edit("---\n", "--- # next\n"), true},
			"a source without data":   {sources + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", true},
			"something else":          {sources + "---\napiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {type: ClusterIP}\n", true},
			"in a list":               {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: '1', y: '2'}}\n- {apiVersion: v1, kind: Secret, metadata: {name: b}, stringData: {z: '3'}}\n", true},
			"a value":                 {edit(`y: "2"`, `y: "3"`), false},
			"a key":                   {edit("y:", "w:"), false},
			"a binary value":          {edit(`data: {x: "1", y: "2"}`, "data: {x: \"1\"}\nbinaryData: {y: \"2\"}"), false},
			"a key of a Secret":       {edit(`z: "3"`, `w: "3"`), false},
			"another name":            {edit("name: a", "name: c"), false},
			"another namespace":       {edit("{name: a}", "{name: a, namespace: other}"), false},
			"what was a Secret's":     {edit("kind: Secret", "kind: ConfigMap"), false},
			"one of two left out":     {configMap, false},
			"a marker in a value":     {edit(`y: "2"`, `y: "2", v: "a\n---\nb"`), false},
		} {
			got, err := of(tc.text)
			if err != nil {
				t.Errorf("%s: %v", about, err)
			} else if (got == before) != tc.same || !plainDigest.MatchString(got) {
				t.Errorf("%s: it is %s, and was %s", about, got, before)
			}
		}
		if got, err := of("data: [\n"); err == nil || !strings.Contains(err.Error(), "the checksum of configmap.yaml: error converting YAML to JSON") {
			t.Errorf("what is not YAML has %s, %v", got, err)
		}
	})
}
