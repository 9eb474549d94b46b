package stamp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// Nine merges of nine merges, and so on, would take hours.
func TestMergesOfMergesAreRefused(t *testing.T) {
	bomb := "a0: &a0 {a: b}\n"
	for i := range 11 {
		bomb += fmt.Sprintf("a%d: &a%d\n  <<: [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
	for about, text := range map[string]string{
		"many":      web + bomb + "spec:\n  <<: *a11\n  template: {spec: {}}\n",
		"of itself": web + "spec: &a\n  <<: [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n",
	} {
		got := stamped(optionsOf(t, []byte("all")), []txtar.File{{Name: "all.yaml", Data: []byte(text)}})
		if !strings.Contains(got["error"], "its merges take in too many mappings, or itself") {
			t.Errorf("%s: %s", about, got["error"])
		}
	}
}
