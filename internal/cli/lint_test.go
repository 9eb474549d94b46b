package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLintOfManifests(t *testing.T) {
	none := func(string) string { return "" }
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "manifest.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const typo = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {example.org/atuo: "true", reloader.stakater.com/atuo: "true"}}}`
	for about, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"fine":           {[]string{write(`{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`)}, 0, "", ""},
		"a typo":         {[]string{write(typo)}, 1, "manifest.yaml:1: Deployment web: annotation reloader.stakater.com/atuo has \"true\": does nothing. Did you mean reloader.stakater.com/auto?\n", ""},
		"by another key": {[]string{"--auto-annotation=example.org/auto", write(typo)}, 1, "manifest.yaml:1: Deployment web: annotation example.org/atuo has \"true\": does nothing. Did you mean example.org/auto?\n", ""},
		"no manifest":    {[]string{write("password: hunter2")}, 2, "", "manifest.yaml:1: it is not a Kubernetes object: it has no apiVersion or no kind\n"},
		"no file":        {[]string{"/nowhere/web.yaml"}, 2, "", "reroll: /nowhere/web.yaml: no such file or directory\n"},
		"no manifest before a typo": {
			[]string{write("password: hunter2"), write(typo)}, 2,
			"manifest.yaml:1: Deployment web: annotation reloader.stakater.com/atuo has \"true\": does nothing. Did you mean reloader.stakater.com/auto?\n",
			"manifest.yaml:1: it is not a Kubernetes object: it has no apiVersion or no kind\n",
		},
		"a boolean": {
			[]string{write("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations:\n    reloader.stakater.com/auto: yes\n")}, 1,
			"manifest.yaml:6: Deployment web: annotation reloader.stakater.com/auto is a boolean; write \"true\" in quotes\n", "",
		},
		"as JSON": {
			[]string{"-o", "json", write(typo)}, 1,
			`"line": 1,
      "object": "Deployment web",
      "annotation": "reloader.stakater.com/atuo",
      "message": "annotation reloader.stakater.com/atuo has \"true\": does nothing. Did you mean reloader.stakater.com/auto?"
    }
  ]
}
`, "",
		},
	} {
		t.Run(about, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Main("reroll", append([]string{"lint"}, tc.args...), "1.2.3", none, &stdout, &stderr)
			if code != tc.code || !strings.HasSuffix(stdout.String(), tc.stdout) || tc.code != 1 && tc.stdout == "" && stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), tc.stderr) {
				t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
			}
		})
	}
}
