package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestWordsComplete(t *testing.T) {
	for line, want := range map[string]string{
		"run --log-format ":        "text\njson\n",
		"run --reload-strategy ":   "auto\nenv-vars\nannotations\n",
		"run --on-revert ":         "stop\nrestart\n",
		"status --output ":         "wide\njson\n",
		"why --output ":            "json\n",
		"lint -o ":                 "json\n",
		"status --secret-marks ":   "keyed\nsha1\n",
		"stamp --missing ":         "ignore\nwarn\nerror\n",
		"run --is-Argo-Rollouts= ": "true\nfalse\nauto\n",
		"run --is-argo-rollouts= ": "true\nfalse\nauto\n",
	} {
		words := strings.Split(line, " ")
		if name, ok := strings.CutSuffix(words[1], "="); ok {
			words = []string{words[0], name + "="}
		}
		var stdout, stderr bytes.Buffer
		Main("reroll", append([]string{"__complete"}, words...), "1.2.3", func(string) string { return "" }, &stdout, &stderr)
		if got, _, _ := strings.Cut(stdout.String(), ":"); got != want {
			t.Errorf("%q completes with %q, want %q", line, got, want)
		}
	}
}

// kubectl runs the binary under another name for completion, with only the words.
func TestKubectlIsAnsweredWhatMayComeNext(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Main("/usr/local/bin/kubectl_complete-reroll", []string{"stat"}, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
	if want := "status\tShow whether Pods use the current data of their ConfigMaps and Secrets\n:4\n"; code != 0 || stdout.String() != want {
		t.Errorf("exit code %d, %q, want %q", code, stdout.String(), want)
	}
}
