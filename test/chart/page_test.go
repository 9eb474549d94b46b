package chart

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// standIn is what matters here of a chart of Reloader: the names and the selector of its
// Deployment. That program itself is not served by the Go module proxy.
func standIn() map[string]string {
	return map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: reloader\nversion: 1.0.0\n",
		"values.yaml": `
reloader: {autoReloadAll: false, reloadStrategy: default, logLevel: info, watchGlobally: true}
`,
		"templates/all.yaml": `
apiVersion: v1
kind: ServiceAccount
metadata: {name: "{{ .Release.Name }}-reloader"}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: "{{ .Release.Name }}-reloader"
spec:
  selector: {matchLabels: {app: "{{ .Release.Name }}-reloader", release: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}-reloader", release: "{{ .Release.Name }}"}}
    spec:
      serviceAccountName: "{{ .Release.Name }}-reloader"
      containers: [{name: reloader, image: "reloader:{{ .Values.reloader.logLevel }}"}]
`,
	}
}

const page = root + "/docs/how-to/migrate-from-reloader.md"

// reader is somebody who follows the page, in a shell.
type reader struct {
	*testing.T
	ctx  context.Context
	on   *stage.Stage
	home string // has the programs in bin
}

// Each block of commands of the page does what the page says, on a release that Helm 3 has made.
func TestThePageOnComingFromReloaderIsTriedAsWritten(t *testing.T) {
	t.Parallel()
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	r := &reader{T: t, ctx: ctx, on: pool.OfTest(t), home: t.TempDir()}
	r.must(os.Mkdir(filepath.Join(r.home, "bin"), 0o700))
	r.must(os.Symlink(clients.Kubectl, filepath.Join(r.home, "bin", "kubectl")))
	r.must(os.Symlink(clients.Helm3, filepath.Join(r.home, "bin", "helm")))
	r.install()
	before := r.deployment()

	r.stale()
	said := r.interrupted("## Check with a dry run", "would update")
	for _, words := range []string{"msg=watching", "dryRun=true", "Changes detected in 'prices' of type 'CONFIGMAP' in namespace 'shop'; would update 'api' of type 'Deployment' in namespace 'shop' (dry run)"} {
		if !strings.Contains(said, words) {
			t.Errorf("it does not say %q:\n%s", words, said)
		}
	}
	if out := r.run("kubectl --namespace shop get deployment,configmap,lease,event --output=yaml"); strings.Contains(out, "reroll") {
		t.Errorf("something was written:\n%s", out)
	}

	if out := r.do("## Replace Reloader"); !strings.Contains(out, `logLevel: debug`) || !strings.Contains(out, "successfully rolled out") {
		t.Errorf("it says\n%s", out)
	}
	replaced := r.deployment()
	if replaced.uid != before.uid || !strings.Contains(replaced.image, "reroll") || !strings.Contains(replaced.args, "--log-level=debug") {
		t.Errorf("the Deployment was %+v and is %+v", before, replaced)
	}

	goingBack := r.commands("## Going back")
	r.waited(goingBack[0], []string{"deployment/paused", "job/copied", "job/held"})
	if out := r.all(goingBack[1:]); !strings.Contains(out, "Rollback was a success") {
		t.Errorf("it says\n%s", out)
	}
	if back := r.deployment(); back.uid != before.uid || back.image != before.image {
		t.Errorf("the Deployment was %+v and is %+v", before, back)
	}
	r.noLedger()
}

// install makes the release that the page speaks of, and what a controller would have left behind.
func (r *reader) install() {
	r.Helper()
	folder := filepath.Join(r.home, "reloader")
	for name, text := range standIn() {
		r.must(os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700))
		r.must(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	r.run("helm install reloader " + folder + " --namespace tools --create-namespace --set reloader.logLevel=debug")
	_, err := r.on.Admin.CoreV1().Secrets("tools").Create(r.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "reroll-digest-key"}}, metav1.CreateOptions{})
	r.must(err)
	r.must(r.on.Cluster.InstallRolloutCRDs(r.ctx))
	r.must(r.on.Harness.AwaitKind(r.ctx, "rollouts"))
	noted := filepath.Join(r.home, "noted.yaml")
	r.must(os.WriteFile(noted, []byte(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: noted, namespace: tools, annotations: {reroll.dev/ledger: "{}"}}
spec:
  selector: {matchLabels: {app: noted}}
  template: {metadata: {labels: {app: noted}}, spec: {containers: [{name: app, image: web}]}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: noted, namespace: tools, annotations: {reroll.dev/ledger: "{}"}}
spec:
  selector: {matchLabels: {app: noted}}
  template: {metadata: {labels: {app: noted}}, spec: {containers: [{name: app, image: web}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: noted, namespace: tools, annotations: {reroll.dev/ledger: "{}"}}
spec:
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: reloader-meta-info, namespace: tools, annotations: {reroll.dev/coverage: "{}"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: noted, namespace: tools, annotations: {reroll.dev/ledger: "{}"}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: paused, namespace: tools, annotations: {deployment.reloader.stakater.com/paused-at: "2026-01-01T00:00:00Z"}}
spec:
  paused: true
  selector: {matchLabels: {app: paused}}
  template: {metadata: {labels: {app: paused}}, spec: {containers: [{name: app, image: web}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: copied, namespace: tools, annotations: {reroll.dev/replaces: "{}"}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: held, namespace: tools, annotations: {reroll.dev/held: "true"}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: app, image: web}]}}}
`), 0o600))
	r.run("kubectl create --filename=" + noted)
}

func (r *reader) noLedger() {
	r.Helper()
	if out := r.run("kubectl get deployments,cronjobs,jobs,rollouts.argoproj.io --all-namespaces --output=yaml"); strings.Contains(out, "reroll.dev/ledger") {
		r.Errorf("there are ledgers left:\n%s", out)
	}
	if out := r.run("kubectl --namespace tools get secrets"); strings.Contains(out, "reroll-digest-key") {
		r.Errorf("the key is left:\n%s", out)
	}
	if out := r.run("kubectl --namespace tools get configmap reloader-meta-info --output=yaml"); strings.Contains(out, "reroll.dev/coverage") {
		r.Errorf("since when it was installed is left:\n%s", out)
	}
}

// do runs all blocks of commands below a heading of the page.
func (r *reader) do(heading string) string {
	r.Helper()
	return r.all(r.commands(heading))
}

func (r *reader) all(blocks []string) string {
	r.Helper()
	out := ""
	for _, block := range blocks {
		out += r.run(block)
	}
	return out
}

// waited runs commands that wait until there is none of some objects, which they say, and deletes
// each once it is said.
func (r *reader) waited(commands string, objects []string) {
	r.Helper()
	cmd := r.command(commands)
	said := &harness.Log{}
	cmd.Stdout, cmd.Stderr = said, said
	r.must(cmd.Start())
	for _, object := range objects {
		_, name, _ := strings.Cut(object, "/")
		r.must(harness.Await(r.ctx, object, func(context.Context) error {
			if len(said.Holding(" tools/"+name)) == 0 {
				return fmt.Errorf("it says\n%s", said.Tail(20))
			}
			return nil
		}))
		r.run("kubectl --namespace tools delete " + object)
	}
	if err := cmd.Wait(); err != nil {
		r.Errorf("it ends with %v:\n%s", err, said.Tail(20))
	}
}

// commands are the blocks below a heading.
func (r *reader) commands(heading string) []string {
	r.Helper()
	text, err := os.ReadFile(page)
	r.must(err)
	_, below, found := strings.Cut(string(text), "\n"+heading+"\n")
	section, _, _ := strings.Cut(below, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	if !found || len(blocks) == 0 {
		r.Fatalf("%s has no commands below %q", page, heading)
	}
	var commands []string
	for _, block := range blocks {
		commands = append(commands, block[1])
	}
	return commands
}

// stale makes the workload that the page has in its example: Reloader was away when its ConfigMap
// changed.
func (r *reader) stale() {
	r.Helper()
	shop, err := r.on.Harness.NamedNamespace(r.ctx, "shop")
	r.must(err)
	r.must(shop.Apply(r.ctx, `
apiVersion: v1
kind: ConfigMap
metadata: {name: prices}
data: {tea: "2"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: prices}}]}]}
`))
	prices, api := harness.Ref{Kind: "configmap", Name: "prices"}, harness.Ref{Kind: "deployment", Name: "api"}
	r.must(shop.MarkAsReloader(r.ctx, "env-vars", prices, api))
	r.must(shop.AwaitReady(r.ctx, api))
	r.must(shop.Edit(r.ctx, prices, "tea=3"))
}

// interrupted runs the commands below a heading in a terminal's place, presses Ctrl-C when
// something is said, and returns all that is said. It has to end well.
func (r *reader) interrupted(heading, when string) string {
	r.Helper()
	cmd := r.command(r.commands(heading)[0])
	// The build is that of whoever runs the tests, with their caches.
	cmd.Env = append(cmd.Env, "HOME="+os.Getenv("HOME"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &harness.Log{}
	cmd.Stdout, cmd.Stderr = said, said
	r.must(cmd.Start())
	r.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	r.must(harness.Await(r.ctx, fmt.Sprintf("%q", when), func(context.Context) error {
		if len(said.Holding(when)) == 0 {
			return fmt.Errorf("it says\n%s", said.Tail(20))
		}
		return nil
	}))
	r.must(syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	if err := cmd.Wait(); err != nil {
		r.Errorf("it ends with %v:\n%s", err, said.Tail(20))
	}
	return said.Tail(1000)
}

func (r *reader) command(text string) *exec.Cmd {
	cmd := exec.CommandContext(r.ctx, "bash", "-euc", text)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "HOME="+r.home, "KUBECONFIG="+r.on.Cluster.Kubeconfig(),
		"PATH="+filepath.Join(r.home, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HELM_CACHE_HOME="+r.home, "HELM_CONFIG_HOME="+r.home, "HELM_DATA_HOME="+r.home)
	return cmd
}

func (r *reader) run(commands string) string {
	r.Helper()
	out, err := r.command(commands).CombinedOutput()
	if err != nil {
		r.Fatalf("%v\n%s\n%s", err, commands, out)
	}
	return string(out)
}

type installed struct{ uid, image, args string }

func (r *reader) deployment() installed {
	r.Helper()
	d, err := r.on.Admin.AppsV1().Deployments("tools").Get(r.ctx, "reloader-reloader", metav1.GetOptions{})
	r.must(err)
	container := d.Spec.Template.Spec.Containers[0]
	return installed{string(d.UID), container.Image, strings.Join(container.Args, " ")}
}

func (r *reader) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
