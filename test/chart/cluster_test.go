package chart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// pool has the clusters of tests that start no more components of Kubernetes.
var pool stage.Pool

func TestMain(m *testing.M) {
	code := m.Run()
	if err := pool.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// installer is somebody with Helm and a cluster.
type installer struct {
	*testing.T
	ctx  context.Context
	on   *stage.Stage
	home string
}

func newInstaller(t *testing.T, on *stage.Stage) *installer {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	return &installer{T: t, ctx: ctx, on: on, home: t.TempDir()}
}

// helm runs the given one on the cluster, in the root of the repository.
func (i *installer) helm(program, values string, args ...string) (string, error) {
	i.Helper()
	cmd := exec.CommandContext(i.ctx, program, args...)
	cmd.Dir = root
	cmd.Stdin = strings.NewReader(values)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+i.on.Cluster.Kubeconfig(), "HELM_CACHE_HOME="+i.home, "HELM_CONFIG_HOME="+i.home, "HELM_DATA_HOME="+i.home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = errors.New(string(out))
	}
	return string(out), err
}

// standInOf writes a chart that makes what Reloader's makes.
func (i *installer) standInOf() string {
	i.Helper()
	folder := filepath.Join(i.home, "reloader")
	for name, text := range standIn() {
		for _, err := range []error{
			os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o700),
			os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600),
		} {
			if err != nil {
				i.Fatal(err)
			}
		}
	}
	return folder
}

func (i *installer) uid(deployment string) types.UID {
	i.Helper()
	d, err := i.on.Admin.AppsV1().Deployments("tools").Get(i.ctx, deployment, metav1.GetOptions{})
	if err != nil {
		i.Fatal(err)
	}
	return d.UID
}

// With both versions of Helm the same happens, on a real API server.
func TestBesideAnInstallationOfReloaderNothingIsInstalled(t *testing.T) {
	t.Parallel()
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	i := newInstaller(t, pool.OfTest(t))
	for version, program := range map[string]string{"3": clients.Helm3, "4": clients.Helm4} {
		name := "prod" + version
		// Reloader's releases are those of Helm 3; Helm 4 goes on the way they were made.
		if _, err := i.helm(clients.Helm3, "", "install", name, i.standInOf(), "--namespace", "tools", "--create-namespace", "--set", "image.repository=ghcr.io/stakater/reloader"); err != nil {
			t.Fatal(err)
		}
		upgrade := []string{"upgrade", name, "charts/reroll", "--namespace", "tools", "--reset-then-reuse-values"}
		if _, err := i.helm(program, "", upgrade...); err == nil || !strings.Contains(err.Error(), "is Reloader's, and this chart runs Reroll") {
			t.Errorf("Helm %s: error: %v", version, err)
		}
		upgrade = append(upgrade, "--set", "image=null")
		_, err := i.helm(program, "", upgrade...)
		want := "the Deployment " + name + "-reloader in namespace tools is an installation of Reloader, and " + name + "-reroll would run beside it. To replace it, set nameOverride to reloader:\n\n" +
			"  helm upgrade " + name + " CHART --namespace tools --reset-then-reuse-values --set nameOverride=reloader\n"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Helm %s: error: %v\nwant it to say: %s", version, err, want)
		}
		// A name that is given as a whole leaves nameOverride without effect.
		_, err = i.helm(program, "", append(upgrade, "--set", "fullnameOverride=restarter")...)
		want = "and restarter would run beside it. To replace it, set fullnameOverride to " + name + "-reloader:\n\n" +
			"  helm upgrade " + name + " CHART --namespace tools --reset-then-reuse-values --set fullnameOverride=" + name + "-reloader\n"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Helm %s, by another full name: error: %v\nwant it to say: %s", version, err, want)
		}
		if out, err := i.helm(program, "", append(upgrade, "--set", "fullnameOverride="+name+"-reloader", "--dry-run=server")...); err != nil {
			t.Errorf("Helm %s, by the full name: %v %s", version, err, out)
		}
		before := i.uid(name + "-reloader")
		if out, err := i.helm(program, "", append(upgrade, "--set", "nameOverride=reloader")...); err != nil {
			t.Errorf("Helm %s, by the name: %v %s", version, err, out)
		}
		if after := i.uid(name + "-reloader"); after != before {
			t.Errorf("Helm %s: the Deployment was %s and is %s", version, before, after)
		}
		// The values of a chart inside of another stand below its alias.
		if _, err := i.helm(clients.Helm3, "", "install", "whole"+version, i.standInOf(), "--namespace", "tools"); err != nil {
			t.Fatal(err)
		}
		_, err = i.helm(program, "", "upgrade", "whole"+version, parent(t, "restarter"), "--namespace", "tools", "--reset-values")
		if want := "--set restarter.nameOverride=reloader\n"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Helm %s, as a part of another chart: error: %v\nwant it to say: %s", version, err, want)
		}
		// What is wrong with the values both say in the same words.
		_, err = i.helm(program, "", "template", name, "charts/reroll", "--kube-version", oldestCluster, "--set", "reloader.autoReloadAl=true")
		if want := "at '/reloader': additional properties 'autoReloadAl' not allowed"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Helm %s: error: %v\nwant it to say: %s", version, err, want)
		}
		// Who only renders has no cluster to look at.
		if out, err := i.helm(program, "", "template", name, "charts/reroll", "--namespace", "tools", "--kube-version", oldestCluster); err != nil {
			t.Errorf("Helm %s, rendered: %v %s", version, err, out)
		}
	}
}

func TestTheNotesWarnWhenNothingIsOptedIn(t *testing.T) {
	t.Parallel()
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	i := newInstaller(t, pool.OfTest(t))
	shop, err := i.on.Harness.NamedNamespace(i.ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(kind, annotations string) {
		t.Helper()
		if err := shop.Apply(i.ctx, `
apiVersion: apps/v1
kind: `+kind+`
metadata: {name: web, `+annotations+`}
spec:
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}
`); err != nil {
			t.Fatal(err)
		}
	}
	const warning = "WARNING: nothing is opted in."
	expect := func(about string, warned bool, values string) {
		t.Helper()
		for version, program := range map[string]string{"3": clients.Helm3, "4": clients.Helm4} {
			out, err := i.helm(program, values, "install", "other", "charts/reroll", "--namespace", "elsewhere", "--dry-run=server", "--disable-openapi-validation", "--values", "-")
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out, warning) != warned {
				_, notes, _ := strings.Cut(out, "NOTES:")
				t.Errorf("%s, Helm %s: want a warning: %v, and it says:%s", about, version, warned, notes)
			}
		}
	}
	apply("Deployment", "annotations: {unrelated: 'true', reloader.stakater.com/auto: 'false'}")
	expect("one that opts out", true, "")
	apply("Deployment", "annotations: {reroll.dev/sources: 'plugins=grafana'}")
	expect("one that selects its sources by labels", false, "")
	apply("Deployment", "annotations: {unrelated: 'true'}")
	byDefault := func(value string) {
		t.Helper()
		patch := `{"metadata": {"annotations": {"reroll.dev/auto": ` + value + `}}}`
		if _, err := i.on.Admin.CoreV1().Namespaces().Patch(i.ctx, "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	byDefault(`"true"`)
	expect("all of a namespace", false, "")
	expect("all of a namespace, which is not read", true, "reloader: {namespaces: [shop]}")
	apply("Deployment", "annotations: {unrelated: 'true', reloader.stakater.com/auto: 'false'}")
	expect("all of a namespace but one that opts out", true, "")
	byDefault("null")
	expect("all are rolled", false, "reloader: {autoReloadAll: true}")
	expect("no permissions to look", false, "reloader: {rbac: {enabled: false}}")
	expect("that namespace", true, "reloader: {namespaces: [shop]}")
	expect("another namespace, without workloads", false, "reloader: {watchGlobally: false}")
	elsewhere, err := i.on.Harness.NamedNamespace(i.ctx, "elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Apply(i.ctx, "{apiVersion: v1, kind: Secret, metadata: {name: reroll-digest-key}}"); err != nil {
		t.Fatal(err)
	}
	expect("it has run there before", false, "")
	expect("it is installed for the first time", true, "namespace: another")
	if err := elsewhere.Delete(i.ctx, harness.Ref{Kind: "secret", Name: "reroll-digest-key"}); err != nil {
		t.Fatal(err)
	}
	apply("StatefulSet", "annotations: {secret.reloader.stakater.com/reload: 'a,b'}")
	expect("one of another kind", false, "")
	expect("its key with blanks around it", false, "reloader: {custom_annotations: {secret: ' secret.reloader.stakater.com/reload '}}")
	expect("another key", true, "reloader: {custom_annotations: {secret: example.org/secrets}}")

	const elsewhereNamed = "custom_annotations: {secret: example.org/secrets}"
	apply("DaemonSet", "annotations: {secretproviderclass.reloader.stakater.com/reload: vault}")
	expect("a class of the CSI driver, which nobody looks at", true, "reloader: {"+elsewhereNamed+"}")
	expect("a class of the CSI driver", false, "reloader: {enableCSIIntegration: true, "+elsewhereNamed+"}")
	if err := shop.Apply(i.ctx, `
apiVersion: batch/v1
kind: CronJob
metadata: {name: report}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        metadata: {annotations: {reloader.stakater.com/auto: "true"}}
        spec: {restartPolicy: Never, containers: [{name: report, image: report}]}
`); err != nil {
		t.Fatal(err)
	}
	expect("a CronJob, by its pods", false, "reloader: {"+elsewhereNamed+"}")
	expect("a CronJob that is left alone", true, "reloader: {ignoreCronJobs: true, "+elsewhereNamed+"}")
	if err := shop.Apply(i.ctx, `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: migrate, image: migrate}]}}
`); err != nil {
		t.Fatal(err)
	}
	expect("a Job", false, "reloader: {ignoreCronJobs: true, "+elsewhereNamed+"}")
	expect("a Job that is left alone", true, "reloader: {ignoreCronJobs: true, ignoreJobs: true, "+elsewhereNamed+"}")
}

func TestTheNotesWarnOfAnotherInstallation(t *testing.T) {
	t.Parallel()
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	i := newInstaller(t, pool.OfTest(t))
	platform, err := i.on.Harness.NamedNamespace(i.ctx, "platform")
	if err != nil {
		t.Fatal(err)
	}
	expect := func(about, warning string) {
		t.Helper()
		for version, program := range map[string]string{"3": clients.Helm3, "4": clients.Helm4} {
			out, err := i.helm(program, "", "install", "other", "charts/reroll", "--namespace", "elsewhere", "--dry-run=server")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(out, "WARNING: Reroll is already installed in namespace "+warning); got != (warning != "") {
				_, notes, _ := strings.Cut(out, "NOTES:")
				t.Errorf("%s, Helm %s: it says:%s", about, version, notes)
			}
		}
	}
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {helm.sh/chart: CHART}}
spec:
  selector: {matchLabels: {app: NAME}}
  template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: app, image: app}]}}
`
	apply := func(name, chart string) {
		t.Helper()
		if err := platform.Apply(i.ctx, strings.NewReplacer("NAME", name, "CHART", chart).Replace(deployment)); err != nil {
			t.Fatal(err)
		}
	}
	apply("web", "web-1.0.0")
	expect("another chart", "")
	apply("reroll", "reroll-0.0.9")
	expect("an installation of this chart", "platform.")
}

// The API server itself says whether the pods are allowed where the standard is enforced.
func TestThePodsAreAllowedWhereOnlyRestrictedOnesAre(t *testing.T) {
	t.Parallel()
	i := newInstaller(t, pool.OfTest(t))
	strict := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
	if _, err := i.on.Admin.CoreV1().Namespaces().Create(i.ctx, strict, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for values, want := range map[string]string{
		"": "",
		"image: {tag: '1'}\n" + oldValuesOfThePod:                                              "",
		"reloader: {isOpenshift: true, readOnlyRootFileSystem: true}":                          "",
		"reloader: {deployment: {containerSecurityContext: {allowPrivilegeEscalation: true}}}": "allowPrivilegeEscalation != false",
	} {
		o := render(t, values)
		for name, spec := range map[string]corev1.PodSpec{"the controller": o.pod().Spec, "the test of the release": o.tests[0].Spec} {
			spec.ServiceAccountName = ""
			spec.AutomountServiceAccountToken = new(bool)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tried"}, Spec: spec}
			_, err := i.on.Admin.CoreV1().Pods("strict").Create(i.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, %s: error: %v", name, values, err)
			}
		}
	}
}

const oldValuesOfThePod = `reloader: {deployment: {securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}, containerSecurityContext: {}}}`
