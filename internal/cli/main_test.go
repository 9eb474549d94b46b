package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
)

func TestWhatTheCommandLineAnswers(t *testing.T) {
	inPod := map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
	for about, tc := range map[string]struct {
		args           []string
		env            map[string]string
		code           int
		stdout, stderr string // expected words in the output; empty: no output
	}{
		"nothing":                        {nil, nil, 2, "", "Usage:"},
		"help":                           {[]string{"--help"}, nil, 0, "Available Commands:", ""},
		"short help":                     {[]string{"-h"}, nil, 0, "Available Commands:", ""},
		"the command help":               {[]string{"help"}, nil, 0, "Available Commands:", ""},
		"help of run":                    {[]string{"run", "--help"}, nil, 0, "--settle-gitops", ""},
		"help in a pod":                  {[]string{"--help"}, inPod, 0, "Available Commands:", ""},
		"version":                        {[]string{"--version"}, nil, 0, "reroll 1.2.3 (commit ", ""},
		"the command version":            {[]string{"version"}, nil, 0, "reroll 1.2.3 (commit ", ""},
		"an argument too many":           {[]string{"run", "fast"}, nil, 2, "", `reroll run takes no argument, and got "fast"`},
		"version of what":                {[]string{"version", "all"}, nil, 2, "", `reroll version takes no argument, and got "all"`},
		"a receiver behind a blank":      {[]string{"--webhook-url=", "https://me:hunter2@hooks.example.com/hunter2?key=hunter2"}, nil, 2, "", `reroll run takes no argument, and got "https://hooks.example.com/redacted"`},
		"a receiver that is no flag's":   {[]string{"run", "WEBHOOK_URL=https://hooks.example.com/hunter2"}, nil, 2, "", `reroll run takes no argument, and got "redacted"`},
		"why of a receiver":              {[]string{"why", "a", "b", "https://hooks.example.com/hunter2"}, nil, 2, "", `reroll why takes no more than 2 arguments, and got "https://hooks.example.com/redacted"`},
		"a command that is a receiver":   {[]string{"https://hooks.example.com/hunter2"}, nil, 2, "", `unknown command "https://hooks.example.com/redacted" for "reroll"`},
		"an unknown command":             {[]string{"rnu"}, nil, 2, "", `unknown command "rnu"`},
		"an unknown flag":                {[]string{"run", "--setle=1s"}, nil, 2, "", "unknown flag: --setle"},
		"one without a command":          {[]string{"--setle=1s"}, nil, 2, "", "unknown flag: --setle"},
		"another case":                   {[]string{"--Settle=1s"}, nil, 2, "", "unknown flag: --Settle"},
		"no duration":                    {[]string{"--settle=5"}, nil, 2, "", `invalid argument "5" for "--settle" flag`},
		"a refusal":                      {[]string{"--settle=-1s"}, nil, 2, "", "--settle=-1s: must be 0 or more"},
		"two refusals":                   {[]string{"--adopt-rate=0", "--kube-api-burst=3"}, nil, 2, "", "--adopt-rate=0: must be more than 0, such as 20\n--kube-api-burst=3"},
		"all that is wrong at once":      {[]string{"--settle=5", "--setle=1s", "--adopt-rate=0", "--log-formt", "text", "--settle-max=x"}, nil, 2, "", "unknown flag: --setle\nunknown flag: --log-formt\ninvalid argument \"5\" for \"--settle\" flag: write a number and a unit, such as 30s, 5m or 1h\ninvalid argument \"x\" for \"--settle-max\" flag: write a number and a unit, such as 30s, 5m or 1h\n--adopt-rate=0: must be more than 0, such as 20\n"},
		"a rate that is no number":       {[]string{"--adopt-rate=x", "--settle-max=x", "--leader-election-lease-duration=x"}, nil, 2, "", "--leader-election-lease-duration\" flag: write a number and a unit, such as 30s, 5m or 1h\nSee reroll run --help.\n"},
		"a letter and a value":           {[]string{"run", "-x", "--settle=foo"}, nil, 2, "", "unknown shorthand flag: 'x' in -x\ninvalid argument \"foo\" for \"--settle\" flag"},
		"letters and a value":            {[]string{"status", "-Ax=1", "--wait=foo"}, nil, 2, "", "in -x=1\ninvalid argument \"foo\" for \"--wait\" flag"},
		"a value and an argument":        {[]string{"run", "--settle=5", "fast"}, nil, 2, "", "reroll run takes no argument, and got \"fast\"\ninvalid argument \"5\""},
		"all of status":                  {[]string{"status", "--wait=5", "--output=xml", "-A", "web"}, nil, 2, "", "invalid argument \"5\" for \"--wait\" flag: write a number and a unit, such as 30s, 5m or 1h\n--output=xml: must be wide or json\nweb is in one namespace"},
		"all of stamp":                   {[]string{"stamp", "--missing=maybe", "--secrets=all"}, nil, 2, "", "--missing=maybe: must be ignore, warn or error\n--secrets=all: must be keyed or plain\n"},
		"an output of why":               {[]string{"why", "web", "-o", "wide"}, nil, 2, "", "--output=wide: must be json"},
		"why of what":                    {[]string{"why"}, nil, 2, "", "reroll why needs a workload, such as deployment/web"},
		"why of a source":                {[]string{"why", "cm/web"}, nil, 2, "", "cm/web is a ConfigMap, not a workload. To list the workloads that its changes roll: reroll plan configmap/web\n"},
		"why of a source in two words":   {[]string{"why", "configmap", "web"}, nil, 2, "", "configmap/web is a ConfigMap, not a workload. To list the workloads that its changes roll: reroll plan configmap/web\n"},
		"why of a workload in two words": {[]string{"why", "Deploy", "web"}, nil, 2, "", "Deploy web is one argument with a slash: write deploy/web\n"},
		"why of a Pod in two words":      {[]string{"why", "po", "web-1", "cm/web"}, nil, 2, "", "po web-1 is one argument with a slash: write po/web-1\n"},
		"status in two words":            {[]string{"status", "deployment", "web"}, nil, 2, "", "deployment web is one argument with a slash: write deployment/web\n"},
		"a plan in two words":            {[]string{"plan", "secret", "db"}, nil, 2, "", "secret db is one argument with a slash: write secret/db\n"},
		"status of two":                  {[]string{"status", "web", "db"}, nil, 2, "", `reroll status takes one argument, and got "db", too`},
		"why of too much":                {[]string{"why", "a", "b", "c"}, nil, 2, "", `reroll why takes no more than 2 arguments, and got "c"`},
		"an output of no kind":           {[]string{"status", "-o", "yaml"}, nil, 2, "", "--output=yaml: must be wide or json"},
		"two ways to wait":               {[]string{"status", "--wait=1s", "--watch"}, nil, 2, "", "exclude each other: set one of them"},
		"one in all":                     {[]string{"status", "-A", "web"}, nil, 2, "", "web is in one namespace"},
		"a plan of what":                 {[]string{"plan"}, nil, 2, "", "reroll plan needs a source, such as configmap/web"},
		"lint of what":                   {[]string{"lint"}, nil, 2, "", "reroll lint needs files, or --namespace"},
		"lint of both":                   {[]string{"lint", "-n", "shop", "web.yaml"}, nil, 2, "", "set either files or a namespace"},
		"an argument of uninstall":       {[]string{"uninstall", "web"}, nil, 2, "", `reroll uninstall takes no argument, and got "web"`},
		"a flag that lacks something in the environment": {[]string{"--enable-ha"}, nil, 2, "", "--enable-ha: POD_NAME is not set"},
	} {
		t.Run(about, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Main("reroll", tc.args, "1.2.3", func(name string) string { return tc.env[name] }, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for name, got := range map[string]struct{ text, want string }{
				"standard output": {stdout.String(), tc.stdout},
				"standard error":  {stderr.String(), tc.stderr},
			} {
				if !strings.Contains(got.text, got.want) || got.want == "" && got.text != "" {
					t.Errorf("%s is %q, want %q", name, got.text, got.want)
				}
			}
			command := "reroll"
			if len(tc.args) > 0 && !strings.HasPrefix(about, "an unknown command") && !strings.HasPrefix(about, "a command that") {
				command += " " + impliedRun(tc.args)[0]
			}
			if hint := strings.HasSuffix(stderr.String(), "See "+command+" --help.\n"); hint != (code == 2 && len(tc.args) > 0) {
				t.Errorf("the hint at the help: %v, in %q", hint, stderr.String())
			}
		})
	}
}

func TestWhatCannotBeReachedIsExitCodeOne(t *testing.T) {
	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	var stdout, stderr bytes.Buffer
	code := Main("reroll", []string{"run"}, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "reroll: no cluster configured: there is no kubeconfig with a cluster") || strings.Contains(stderr.String(), "See reroll --help") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// client-go suggests a variable that has no effect here.
func TestWithoutAClusterNoVariableOfClientGoIsSuggested(t *testing.T) {
	for about, kubeconfig := range map[string]string{
		"a kubeconfig without a cluster": "apiVersion: v1\nkind: Config\n",
		"no kubeconfig":                  "",
	} {
		t.Run(about, func(t *testing.T) {
			useKubeconfig(t, kubeconfig)
			for _, command := range []string{"run", "status", "uninstall"} {
				var stdout, stderr bytes.Buffer
				Main("reroll", []string{command}, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
				if text := stderr.String(); !strings.Contains(text, "Set KUBECONFIG") || strings.Contains(text, "KUBERNETES_MASTER") {
					t.Errorf("%s: %q", command, text)
				}
			}
		})
	}
}

func TestFlagsWithoutACommandAreThoseOfRun(t *testing.T) {
	for line, want := range map[string]string{
		"":                          "run",
		"--log-format=json":         "run --log-format=json",
		"--enable-ha --settle 1s":   "run --enable-ha --settle 1s",
		"run --log-format=json":     "run --log-format=json",
		"version":                   "version",
		"--help":                    "--help",
		"--version":                 "version",
		"--namespaces=a --help":     "run --namespaces=a --help",
		"completion bash":           "completion bash",
		"-v":                        "run -v",
		"unknown --settle=1s":       "unknown --settle=1s",
		"--auto-reload-all version": "run --auto-reload-all version",
	} {
		if got := strings.Join(impliedRun(strings.Fields(line)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

func TestABooleanTakesAValueOrNone(t *testing.T) {
	for line, want := range map[string]string{
		"run --auto-reload-all":                                "run --auto-reload-all",
		"run --auto-reload-all true --settle 1s":               "run --auto-reload-all=true --settle 1s",
		"run --settle 1s --auto-reload-all F":                  "run --settle 1s --auto-reload-all=F",
		"run --auto-reload-all=0 --dry-run --enable-ha":        "run --auto-reload-all=0 --dry-run --enable-ha",
		"run --auto-reload-all false --dry-run FALSE":          "run --auto-reload-all=false --dry-run=FALSE",
		"run --kube-api-burst 1 --auto-reload-all maybe":       "run --kube-api-burst 1 --auto-reload-all maybe",
		"run --is-Argo-Rollouts true --is-argo-rollouts false": "run --is-Argo-Rollouts=true --is-argo-rollouts=false",
		"run --is-argo-rollouts auto --is-Argo-Rollouts auto":  "run --is-argo-rollouts=auto --is-Argo-Rollouts=auto",
		"run --auto-reload-all auto":                           "run --auto-reload-all auto",
		"run --is-argo-rollouts maybe":                         "run --is-argo-rollouts maybe",
		"run --unknown true":                                   "run --unknown true",
		"version":                                              "version",
		"nonsense --auto-reload-all true":                      "nonsense --auto-reload-all true",
	} {
		root := newRoot("reroll", "1.2.3", func(string) string { return "" }, io.Discard)
		if got := strings.Join(withValues(root, strings.Fields(line)), " "); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
}

func TestAnyBooleanSpellingIsTaken(t *testing.T) {
	for _, flag := range []string{"--auto-reload-all", "--dry-run", "--enable-ha", "--enable-pprof", "--sync-after-restart"} {
		for _, value := range []string{"", "=true", "=TRUE", "=1", "=t", "=false", "=F", "=0", " true", " False"} {
			var stderr bytes.Buffer
			// The error is about the last flag, so the parser accepted all flags before it.
			args := append(strings.Fields(flag+value), "--settle=never")
			if code := Main("reroll", args, "1.2.3", func(string) string { return "" }, io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), "never") {
				t.Errorf("%s%s: exit code %d, %s", flag, value, code, stderr.String())
			}
		}
		var stderr bytes.Buffer
		if code := Main("reroll", []string{flag + "=perhaps"}, "1.2.3", func(string) string { return "" }, io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), `invalid argument "perhaps" for "`+flag+`" flag`) {
			t.Errorf("%s=perhaps: exit code %d, %s", flag, code, stderr.String())
		}
	}
}

func TestSyncAfterRestartIsTakenAndAnswered(t *testing.T) {
	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	for flag, want := range map[string]int{"--sync-after-restart": 1, "--sync-after-restart=false": 0, "--dry-run": 0} {
		var stderr bytes.Buffer
		Main("reroll", []string{flag}, "1.2.3", func(string) string { return "" }, io.Discard, &stderr)
		if got := strings.Count(stderr.String(), "level=info msg=\"--sync-after-restart has no effect: Reroll always detects changes that were made while the controller was down\"\n"); got != want {
			t.Errorf("%s: %d lines, want %d: %s", flag, got, want, stderr.String())
		}
	}
}

func TestProfilesAreServedForWhoAsks(t *testing.T) {
	var log bytes.Buffer
	for _, asked := range []bool{false, true} {
		cfg := &config.Config{PProf: asked, PProfAddress: "127.0.0.1:0"}
		profiles, err := listenProfiles(cfg, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || (profiles != nil) != asked || strings.Contains(log.String(), "serving profiles") != asked {
			t.Errorf("asked for: %t, served: %t, %v, %s", asked, profiles != nil, err, log.String())
		}
		if profiles != nil {
			t.Cleanup(func() {
				ended, end := context.WithCancel(context.Background())
				end()
				_ = profiles.Run(ended)
			})
		}
	}
}

func TestWithoutAClusterStatusCannotTell(t *testing.T) {
	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	for command, want := range map[string]int{"status": 2, "why": 1, "plan": 1} {
		args := []string{command, "web"}
		var stdout, stderr bytes.Buffer
		code := Main("reroll", args, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
		if code != want || !strings.Contains(stderr.String(), "reroll: no cluster configured") || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %q, %q", command, code, stdout.String(), stderr.String())
		}
	}
}

func TestThePageHasTheExitCodesWithoutACluster(t *testing.T) {
	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	page, err := os.ReadFile("../../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	for command, documented := range map[string]struct {
		args string
		want int
		text string
	}{
		"why":       {"why deployment/web", 1, "0; 1 on an error, such as no cluster or no such workload |"},
		"plan":      {"plan configmap/web", 1, "1 on another error, such as no cluster |"},
		"uninstall": {"uninstall", 1, "0; 1 if something failed, such as no cluster, or a controller runs"},
		"status":    {"status", 2, "[below](#reroll-status) |"},
		"lint":      {"lint -n shop", 2, "0, 1, 2: [below](#reroll-lint) |"},
	} {
		_, row, _ := strings.Cut(string(page), "\n| `reroll "+command)
		row, _, _ = strings.Cut(row, "\n")
		code := Main("reroll", strings.Fields(documented.args), "1.2.3", func(string) string { return "" }, io.Discard, io.Discard)
		if code != documented.want || !strings.Contains(row, documented.text) {
			t.Errorf("%s: exit code %d, want %d; the page has %q", command, code, documented.want, row)
		}
	}
}

func TestAsAPluginOfKubectl(t *testing.T) {
	var stdout, stderr bytes.Buffer
	none := func(string) string { return "" }
	if code := Main("/usr/local/bin/kubectl-reroll", []string{"why", "--help"}, "1.2.3", none, &stdout, &stderr); code != 0 ||
		!strings.Contains(stdout.String(), "kubectl reroll why KIND/NAME [SOURCE] [flags]") || !strings.Contains(stdout.String(), "  kubectl reroll why deployment/web\n") {
		t.Errorf("exit code %d: %s", code, stdout.String())
	}
	if code := Main("kubectl-reroll", []string{"why"}, "1.2.3", none, &stdout, &stderr); code != 2 || !strings.HasSuffix(stderr.String(), "See kubectl reroll why --help.\n") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// The help of run lists its flags under headings, each flag once.
func TestTheFlagsOfRunHaveHeadings(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Main("reroll", []string{"run", "--help"}, "1.2.3", func(string) string { return "" }, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	before := -1
	for _, want := range []string{"Usage:\n  reroll run [flags]\n", "\nSources and workloads:\n", "\nTiming:\n", " --settle duration ", "\nKeys of annotations:\n", "--auto-annotation", "\nOther flags:\n"} {
		at := strings.Index(stdout.String(), want)
		if at < before || at < 0 {
			t.Errorf("%q is not there, or not behind the one before:\n%s", want, stdout.String())
		}
		before = at
	}
	if _, rest, _ := strings.Cut(stdout.String(), "\nOther flags:\n"); strings.TrimSpace(rest) != "-h, --help   help for run" {
		t.Errorf("without a heading: %s", rest)
	}
	cmd := newRun(buildinfo.Info{}, os.Getenv, io.Discard)
	for _, g := range groups() {
		for _, name := range g.flags {
			if cmd.Flags().Lookup(name) == nil {
				t.Errorf("%s has %s, which is not a flag", g.title, name)
			}
		}
	}
}
