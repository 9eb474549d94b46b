package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/test/harness"
)

func (r *reader) try(b *block) {
	r.Helper()
	r.folder = r.clone
	if name, found := b.words["kinds"]; found {
		r.installKinds(b, name)
	}
	r.prepare(b.words["after"])
	if _, found := b.words["controller"]; found {
		r.runController()
	}
	r.prepare(b.words["then"])
	if folder, found := b.words["in"]; found {
		r.folder = filepath.Join(r.home, folder)
	}
	switch b.language {
	case "yaml":
		r.apply(b)
	case "console":
		r.compare(b)
	default:
		if until, found := b.words["until"]; found {
			r.interrupt(b, until)
			return
		}
		if out, err := r.command(b.text).CombinedOutput(); err != nil {
			r.Errorf("%s: %v\n%s\n%s", b, err, b.text, out)
		}
	}
}

func (r *reader) installKinds(b *block, name string) {
	r.Helper()
	install := map[string]func(context.Context) error{
		"argo-cd":       r.on.Cluster.InstallArgoCDCRDs,
		"argo-rollouts": r.on.Cluster.InstallRolloutCRDs,
		"monitoring":    r.on.Cluster.InstallMonitoringCRDs,
	}[name]
	if install == nil {
		r.Fatalf("%s: nobody knows the kinds of %q", b, name)
	}
	r.must(install(r.ctx))
}

// prepare runs a script of testdata, if there is one to run.
func (r *reader) prepare(script string) {
	r.Helper()
	if script == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join("testdata", script))
	r.must(err)
	r.run(string(text))
}

// runController runs what the page has installed as the release reroll in the namespace reroll.
func (r *reader) runController() {
	r.Helper()
	if r.own == nil {
		n, err := r.on.Harness.ComingNamespace(r.ctx, "reroll")
		r.must(err)
		r.own, err = n.RunPods(r.ctx, "app=reroll", r.binary)
		r.must(err)
		r.Cleanup(func() {
			if err := r.own.End(); err != nil {
				r.Error(err)
			}
		})
	}
	_, err := r.own.AwaitReady(r.ctx, 1)
	r.must(err)
}

func (r *reader) command(text string) *exec.Cmd {
	cmd := exec.CommandContext(r.ctx, "bash", "-euo", "pipefail", "-c", text)
	cmd.Dir = r.folder
	cmd.Env = append(os.Environ(), "HOME="+r.home, "KUBECONFIG="+filepath.Join(r.home, "kubeconfig"), "COLUMNS=80",
		"PATH="+filepath.Join(r.home, ".local", "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+r.home, "HELM_CONFIG_HOME="+r.home, "HELM_DATA_HOME="+r.home)
	return cmd
}

func (r *reader) run(script string) {
	r.Helper()
	if out, err := r.command(script).CombinedOutput(); err != nil {
		r.Fatalf("%v\n%s\n%s", err, script, out)
	}
}

// interrupt presses Ctrl-C when something was said. It has to end well.
func (r *reader) interrupt(b *block, until string) {
	r.Helper()
	cmd := r.command(b.text)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &harness.Log{}
	cmd.Stdout, cmd.Stderr = said, said
	r.must(cmd.Start())
	r.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	r.must(harness.Await(r.ctx, fmt.Sprintf("%q of %s", until, b), func(context.Context) error {
		if len(said.Holding(until)) == 0 {
			return fmt.Errorf("it says\n%s", said.Tail(20))
		}
		return nil
	}))
	r.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		r.Errorf("%s ends with %v:\n%s", b, err, said.Tail(20))
	}
}

// shownWithin bounds how long a page that is wrong keeps its test. What is right is there within
// seconds.
const shownWithin = 3 * time.Minute

// compare runs each command of a block and compares what it says, once it says that: an event may
// come a moment later. A line with "…" alone stands for any lines, or none. What is shown decides,
// and not the exit code, for many of these answer no.
func (r *reader) compare(b *block) {
	r.Helper()
	for part := range strings.SplitSeq("\n"+b.text, "\n$ ") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		command, shown, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(shown) == "" {
			r.run(command)
			continue
		}
		ctx, cancel := context.WithTimeoutCause(r.ctx, shownWithin, fmt.Errorf("it did not say that within %s", shownWithin))
		r.must(harness.Await(ctx, fmt.Sprintf("what %s shows for %q", b, command), func(context.Context) error {
			out, _ := r.command(command).CombinedOutput() // what is shown tells more than the exit code
			if matches(shown, string(out)) {
				return nil
			}
			return fmt.Errorf("-shown +said:\n%s\nsaid in full:\n%s", cmp.Diff(masked(shown), masked(string(out))), out)
		}))
		cancel()
	}
}

// matches reports whether all that was said is shown.
func matches(shown, said string) bool {
	var pattern strings.Builder
	pattern.WriteString("^")
	for _, line := range masked(shown) {
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(line) + `\n`)
	}
	return regexp.MustCompile(pattern.String() + "$").MatchString(strings.Join(masked(said), "\n") + "\n")
}

// masked are the lines without what differs from run to run: the names that Kubernetes gives to
// pods, times and durations, and how wide a column is for them.
func masked(text string) []string {
	var lines []string
	pods := regexp.MustCompile(`-[0-9a-z]{8,10}-[0-9a-z]{5}\b`)
	times := regexp.MustCompile(`\b\d+(\.\d+)?(s|m|h|d|ms|m\d+s)\b|<unknown>`)
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		line = times.ReplaceAllString(pods.ReplaceAllString(line, "-POD"), "TIME")
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}
