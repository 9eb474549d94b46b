package cli

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWordsComplete(t *testing.T) {
	for line, want := range map[string]string{
		"run --log-format ":        "text\njson\n",
		"run --reload-strategy ":   "auto\nenv-vars\nannotations\n",
		"run --on-revert ":         "stop\nrestart\n",
		"run --mode ":              "reload\nnotify\n",
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

// A flag without a completion accepts any text, so a new flag with a list of values cannot be
// forgotten here.
func TestEachFlagWithAListOfValuesCompletes(t *testing.T) {
	accepted := regexp.MustCompile(`annotation|namespace|selector|label|url|addr|kubeconfig|workload-kind|key-file|window|reason|digest`)
	completed := 0
	for _, cmd := range newRoot("reroll", "1.2.3", func(string) string { return "" }, io.Discard).Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch f.Value.Type() {
			case "bool", "duration", "int", "int32", "float32", "float64", "limit", "share", "halt":
				return
			}
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok {
				completed++
			} else if !accepted.MatchString(f.Name) {
				t.Errorf("reroll %s --%s has no completion", cmd.Name(), f.Name)
			}
		})
	}
	if completed == 0 {
		t.Error("no flag has a completion")
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
