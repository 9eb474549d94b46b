package stamp

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/test/cluster"
)

const (
	// web is a chart with a Deployment that is opted in.
	web       = "examples/gitops/web"
	plugins   = "examples/stamp"
	kustomize = "examples/stamp/kustomize"
)

// newStamper is a user who has reroll on the PATH, as everything in the examples expects it.
func newStamper(t *testing.T, folders ...string) *user {
	t.Helper()
	u := newUser(t, folders...)
	program, err := reroll()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range u.env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			u.env[i] = "PATH=" + filepath.Dir(program) + string(filepath.ListSeparator) + path
		}
	}
	return u
}

func (u *user) edit(file, from, to string) {
	u.Helper()
	text, err := os.ReadFile(filepath.Join(u.dir, file))
	if err != nil {
		u.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		u.Fatalf("%q is not in %s:\n%s", from, file, text)
	}
	u.write(file, strings.Replace(string(text), from, to, 1))
}

// rolls calls what makes manifests, before and after another label and other data. All of it is as
// without a stamp, but for that.
func (u *user) rolls(unstamped, stamped func() string, relabel, change func()) string {
	u.Helper()
	first := u.stampOf(unstamped(), stamped())
	relabel()
	if got := u.stampOf(unstamped(), stamped()); got != first {
		u.Errorf("another label makes %s of %s", got, first)
	}
	change()
	if got := u.stampOf(unstamped(), stamped()); got == first {
		u.Errorf("other data has the same stamp, %s", got)
	}
	return first
}

func (u *user) stampOf(without, with string) string {
	u.Helper()
	stamp := u.checksum(with)
	if !digest.IsStamp(stamp) || stamp == digest.NoConfigData || u.checksum(without) != "" {
		u.Fatalf("the stamp is %q in:\n%s", stamp, with)
	}
	line := "\n        " + annotation + ": " + stamp
	rest := strings.Replace(with, line, "", 1)
	if rest = strings.Replace(rest, "\n      annotations:\n", "\n", 1); strings.TrimSpace(rest) != strings.TrimSpace(without) {
		u.Errorf("without the stamp, it is\n%s\nand was\n%s", rest, without)
	}
	return stamp
}

func (u *user) shell(line string) func() string {
	return func() string { u.Helper(); return u.run("sh", "-c", "set -e; "+line) }
}

func (u *user) webRolls(helm, pipe string) string {
	u.Helper()
	page := web + "/templates/configmap.yaml"
	return u.rolls(u.shell(helm), u.shell(pipe),
		func() { u.edit(page, "metadata:\n", "metadata:\n  labels: {team: shop}\n") },
		func() { u.edit(page, "\ndata:\n", "\ndata:\n  more: ''\n") })
}

// These are the ways of docs/how-to/stamp.md.
func TestAPipe(t *testing.T) {
	bothHelms(t, func(t *testing.T, helm func(cluster.Clients) string) {
		u := newStamper(t, web)
		render := helm(u.Clients) + " template web " + web
		u.webRolls(render, render+" | reroll stamp")
	})
	t.Run("kubectl", func(t *testing.T) {
		u := newStamper(t, kustomize)
		u.write(kustomize+"/stamp.yaml", "# none\n")
		u.edit(kustomize+"/kustomization.yaml", "transformers:\n- stamp.yaml\n", "")
		render := u.Kubectl + " kustomize " + kustomize
		u.kustomized(u.shell(render), u.shell(render+" | reroll stamp --all"))
	})
}

func (u *user) kustomized(unstamped, stamped func() string) string {
	u.Helper()
	return u.rolls(unstamped, stamped,
		func() {
			u.edit(kustomize+"/kustomization.yaml", "options: {", "options: {labels: {team: shop}, ")
		},
		func() { u.edit(kustomize+"/kustomization.yaml", "Hello", "Goodbye") })
}

// What a post-renderer makes of a chart is what a pipe makes of it.
func TestPostRenderers(t *testing.T) {
	t.Run("Helm 3", func(t *testing.T) {
		u := newStamper(t, web)
		render := u.Helm3 + " template web " + web
		u.webRolls(render, render+" --post-renderer reroll --post-renderer-args stamp --post-renderer-args --missing=error")
		u.refuses("Deployment web: ConfigMap page, which it needs, is not in these manifests", u.Helm3, "reroll", "stamp", "--missing=error")
	})
	t.Run("Helm 4", func(t *testing.T) {
		u := newStamper(t, web, plugins)
		u.env = append(u.env, "HELM_PLUGINS="+filepath.Join(u.dir, plugins))
		render := u.Helm4 + " template web " + web
		u.webRolls(render, render+" --post-renderer reroll-stamp --post-renderer-args --missing=error")
		u.refuses(`plugin "reroll-stamp" exited with error`, u.Helm4, "reroll-stamp", "--missing=error")
	})
}

// refuses: what stamp refuses, Helm does not send to a cluster. Helm 4 does not show what a plugin
// says about it.
func (u *user) refuses(want, helm, renderer string, args ...string) {
	u.Helper()
	all := []string{"template", "web", web, "--post-renderer", renderer}
	for _, arg := range args {
		all = append(all, "--post-renderer-args", arg)
	}
	u.write(web+"/templates/configmap.yaml", "")
	if out, err := u.try(helm, all...); err == nil || !strings.Contains(err.Error(), want) || out != "" {
		u.Errorf("it has %v\n%s", err, out)
	}
}

// The function is a transformer, and has its options from the file that makes it one.
func TestAFunctionOfKustomize(t *testing.T) {
	u := newStamper(t, kustomize)
	const line = " build --enable-alpha-plugins --enable-exec "
	bare := t.TempDir()
	unstamped := func() string {
		u.Helper()
		if err := errors.Join(os.RemoveAll(bare), os.CopyFS(bare, os.DirFS(filepath.Join(u.dir, kustomize)))); err != nil {
			u.Fatal(err)
		}
		all := u.run("sed", "/^transformers:/,$d", filepath.Join(bare, "kustomization.yaml"))
		if err := os.WriteFile(filepath.Join(bare, "kustomization.yaml"), []byte(all), 0o600); err != nil {
			u.Fatal(err)
		}
		return u.run(u.Kustomize, "build", bare)
	}
	stamp := u.kustomized(unstamped, u.shell(u.Kustomize+line+kustomize))

	config := kustomize + "/stamp.yaml"
	u.edit(config, "  all: true\n", "  all: true\n  annotation: checksum/other\n")
	if all := u.run("sh", "-c", u.Kustomize+line+kustomize); !strings.Contains(all, "checksum/other: "+digest.StampPrefix) || u.checksum(all) != "" {
		t.Errorf("with another annotation than that of %s it is\n%s", stamp, all)
	}
	u.edit(kustomize+"/kustomization.yaml", "- name: page\n", "- name: elsewhere\n")
	if _, err := u.try("sh", "-c", u.Kustomize+line+kustomize); err == nil || !strings.Contains(err.Error(), "ConfigMap page, which it needs, is not in these manifests") {
		t.Errorf("missing: error is not obeyed: %v", err)
	}
	u.edit(config, "missing:", "mising:")
	if _, err := u.try("sh", "-c", u.Kustomize+line+kustomize); err == nil || !strings.Contains(err.Error(), "functionConfig: spec.mising: unknown option: use the names of the flags") {
		t.Errorf("an option that there is not has %v", err)
	}
}

// An overlay renames what it has from its base, and a generator adds a hash. When the function
// runs, references have the names from before.
func TestAFunctionOfKustomizeInAnOverlay(t *testing.T) {
	u := newStamper(t, kustomize)
	base := kustomize + "/kustomization.yaml"
	transformer, err := os.ReadFile(filepath.Join(u.dir, kustomize, "stamp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u.edit(base, "transformers:\n- stamp.yaml\n", "")
	u.edit(base, "  options: {disableNameSuffixHash: true}\n", "")
	u.write("middle/kustomization.yaml", "resources: [../"+kustomize+"]\nnamePrefix: eu-\nnamespace: shop\n")
	u.write("overlay/stamp.yaml", string(transformer))
	u.write("overlay/kustomization.yaml", "resources: [../middle]\nnamePrefix: dev-\nnameSuffix: -x\ntransformers: [stamp.yaml]\n")
	build := u.shell(u.Kustomize + " build --enable-alpha-plugins --enable-exec overlay")
	first := build()
	if !strings.Contains(first, "name: dev-eu-page-x-") || !digest.IsStamp(u.checksum(first)) || u.checksum(first) == digest.NoConfigData {
		t.Fatalf("it is not stamped:\n%s", first)
	}
	u.edit(base, "Hello", "Goodbye")
	if then := build(); u.checksum(then) == u.checksum(first) {
		t.Errorf("other data has the same stamp:\n%s", then)
	}
}

// The hook is called by git, and the line for pre-commit as it would call it.
func TestBeforeACommit(t *testing.T) {
	u := newStamper(t, plugins)
	git := func(args ...string) error {
		_, err := u.try("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.hooksPath=" + filepath.Join(u.dir, plugins, "pre-commit")}, args...)...)
		return err
	}
	text, err := os.ReadFile(filepath.Join(u.dir, plugins, "pre-commit", ".pre-commit-config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Repos []struct {
			Hooks []struct {
				Entry string `json:"entry"`
			} `json:"hooks"`
		} `json:"repos"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil || len(config.Repos) != 1 || len(config.Repos[0].Hooks) != 1 {
		t.Fatalf("%v in:\n%s", err, text)
	}
	entry := func() error { _, err := u.try("sh", "-c", config.Repos[0].Hooks[0].Entry); return err }

	manifests := u.run(u.Kubectl, "kustomize", u.unstamped())
	u.write("deploy/all.yaml", manifests)
	u.run("git", "init", "-q")
	u.run("git", "add", "deploy")
	for about, try := range map[string]func() error{"git": func() error { return git("commit", "-qm", "first") }, "pre-commit": entry} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "+        checksum/config: "+digest.StampPrefix) {
			t.Errorf("%s: without a stamp: %v", about, err)
		}
	}
	u.run("sh", "-c", "reroll stamp --all --in-place deploy/*.yaml && git add deploy")
	if err := errors.Join(entry(), git("commit", "-qm", "first")); err != nil {
		t.Errorf("with its stamp: %v", err)
	}
	u.edit("deploy/all.yaml", "Hello", "Goodbye")
	if err := entry(); err == nil {
		t.Error("pre-commit: the stamp of other data is not noticed")
	}
	if exit, ok := errors.AsType[*exec.ExitError](git("commit", "-qam", "second")); !ok || exit.ExitCode() != 1 {
		t.Error("git: the stamp of other data is not noticed")
	}
}

// unstamped is the folder of the example for kustomize without its function.
func (u *user) unstamped() string {
	u.Helper()
	u.edit(kustomize+"/kustomization.yaml", "transformers:\n- stamp.yaml\n", "")
	return kustomize
}
