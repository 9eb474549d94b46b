package stamp

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Brackets and quotes in comments and in plain texts have no meaning in YAML. Diff must always show
// the change, and nothing of the Secret on the same line.
func TestADiffShowsNothingOfTheObjectsBeside(t *testing.T) {
	const (
		secret = "{stringData: {a: hunter2}, apiVersion: v1, kind: Secret, metadata: {name: db}}"
		before = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {a: "
		behind = "}}, "
		pods   = "spec: {template: {spec: {containers: []}}}}"
	)
	for about, web := range map[string]string{
		"nothing of that":               before + "b" + behind + pods,
		"an apostrophe":                 before + "don't" + behind + pods,
		"inches":                        before + `5"` + behind + pods,
		"a comment":                     before + "b" + behind + "# it's {\n " + pods,
		"a comment that seems to close": before + "b" + behind + "# }}\n " + pods,
		"a stamp, and such a comment":   before + "b" + behind + "# }}\n spec: {template: {spec: {}, metadata: {annotations: {checksum/config: reroll1:00000000000000000000000000000000}}}}}",
	} {
		for _, items := range []string{web + ", " + secret, secret + ", " + web, secret + ", " + web + ", " + strings.Replace(secret, "db", "other", 1)} {
			text := "apiVersion: v1\nkind: List\nitems: [" + items + "]\n"
			diff := stamped(optionsOf(t, []byte("all")), []txtar.File{{Name: "all.yaml", Data: []byte(text)}})["diff"]
			if strings.Contains(diff, "hunter") || !strings.Contains(diff, "no-config-data") {
				t.Errorf("%s: %s%s", about, text, diff)
			}
		}
	}
}
