package chart

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// mode is a way to install the chart that changes what the controller may do or how it is started.
type mode struct {
	values   string
	replicas int
	// namespace is where the workloads are: "" is that of the installation.
	namespace string
	manifest  string
	edit      func(*installedMode)
	workload  harness.Ref
}

const deploymentOfModes = `
apiVersion: v1
kind: ConfigMap
metadata: {name: greeting}
data: {text: hello}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: greeting}}]}]}
`

const mountedOfModes = `
apiVersion: secrets-store.csi.x-k8s.io/v1
kind: SecretProviderClass
metadata: {name: vault}
spec: {provider: vault}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: web, volumeMounts: [{name: vault, mountPath: /vault}]}]
      volumes: [{name: vault, csi: {driver: secrets-store.csi.k8s.io, readOnly: true, volumeAttributes: {secretProviderClass: vault}}}]
`

func modes() map[string]mode {
	deployment := harness.Ref{Kind: "deployment", Name: "web"}
	edited := func(i *installedMode) { i.must(i.shop.Edit(i.ctx, greeting, "text=good morning")) }
	rollout := strings.NewReplacer("apps/v1", "argoproj.io/v1alpha1", "kind: Deployment", "kind: Rollout", "replicas: 2", "replicas: 2\n  strategy: {canary: {}}").Replace(deploymentOfModes)
	return map[string]mode{
		"all namespaces":  {"{}", 1, "shop", deploymentOfModes, edited, deployment},
		"some namespaces": {"reloader: {namespaces: [shop, another]}", 1, "shop", deploymentOfModes, edited, deployment},
		"its own":         {"reloader: {watchGlobally: false}", 1, "", deploymentOfModes, edited, deployment},
		"two replicas":    {"reloader: {enableHA: true, deployment: {replicas: 2}}", 2, "shop", deploymentOfModes, edited, deployment},
		"Argo Rollouts":   {"reloader: {isArgoRollouts: true}", 1, "shop", rollout, edited, harness.Ref{Kind: "rollout", Name: "web"}},
		"CSI": {"reloader: {enableCSIIntegration: true}", 1, "shop", mountedOfModes, func(i *installedMode) {
			i.must(i.driver.Store("vault", "password=2"))
			i.must(i.driver.Rotate(i.ctx, "vault", deployment, 0))
		}, deployment},
	}
}

// installedMode is a release of Helm, and the pods of its Deployment as processes.
type installedMode struct {
	*installer
	mode

	own, shop *harness.Namespace
	driver    *harness.CSIDriver
	pods      *harness.Pods
}

func (i *installedMode) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// Helm installs each mode on a real API server, and the pods of the Deployment that comes of it run
// the controller: by their arguments and environment, and with a token of their ServiceAccount, so
// with the permissions that were rendered and no others.
func TestTheControllerRunsAsInstalledInEachMode(t *testing.T) {
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := harness.ForTests(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range modes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := &installedMode{installer: newInstaller(t, m.stage(t)), mode: m}
			i.prepare()
			if out, err := i.helm(clients.Helm4, m.values, "install", release, "charts/reroll", "--namespace", namespace, "--values", "-"); err != nil {
				t.Fatal(err, out)
			}
			i.tested(binary, false)
			pods, err := i.own.RunPods(i.ctx, "app=prod-reroll", binary)
			i.must(err)
			i.pods = pods
			t.Cleanup(func() {
				if err := i.pods.End(); err != nil {
					t.Error(err)
				}
			})
			running, err := i.pods.AwaitReady(i.ctx, m.replicas)
			i.must(err)
			acting := i.acting(running)
			i.rollsOnce(1)
			i.tested(binary, true)
			if m.replicas == 1 {
				i.nothingRefused(running)
				// A controller that is killed leaves its ConfigMap, and a Lease that is valid for
				// some seconds.
				i.must(i.pods.End())
				i.tested(binary, false)
				return
			}
			i.must(i.own.Delete(i.ctx, harness.Ref{Kind: "pod", Name: acting}))
			running, err = i.pods.AwaitReady(i.ctx, m.replicas)
			i.must(err)
			if next := i.acting(running); next == acting {
				t.Errorf("%s acts, and was deleted", next)
			}
			i.must(i.shop.Edit(i.ctx, greeting, "text=good evening"))
			i.rolled(2)
			i.nothingRefused(running)
		})
	}
}

// stage has a cluster of its own if Argo Rollouts runs on it.
func (m mode) stage(t *testing.T) *stage.Stage {
	t.Helper()
	if m.workload.Kind == "rollout" {
		return stage.OfTest(t, nil)
	}
	return pool.OfTest(t)
}

// prepare makes all that the mode takes to be there.
func (i *installedMode) prepare() {
	i.Helper()
	var err error
	switch i.workload.Kind {
	case "rollout":
		i.must(i.on.Cluster.StartArgoRollouts(i.ctx, os.Stderr))
		i.must(i.on.Harness.AwaitKind(i.ctx, "rollouts"))
		i.on.Harness.ArgoRollouts = true
	default:
		i.must(i.on.Cluster.InstallCSICRDs(i.ctx))
		i.must(i.on.Harness.AwaitKind(i.ctx, "secretproviderclasses"))
	}
	i.own, err = i.on.Harness.NamedNamespace(i.ctx, namespace)
	i.must(err)
	i.shop = i.own
	if i.namespace != "" {
		i.shop, err = i.on.Harness.NamedNamespace(i.ctx, i.namespace)
		i.must(err)
		_, err = i.on.Harness.NamedNamespace(i.ctx, "another")
		i.must(err)
	}
	i.driver, err = i.shop.CSIDriver(i.ctx)
	i.must(err)
	i.must(i.driver.Store("vault", "password=1"))
	i.must(i.shop.Mark(i.ctx))
	i.must(i.shop.Apply(i.ctx, i.manifest))
	i.must(i.shop.AwaitReady(i.ctx, i.workload))
	i.Cleanup(func() {
		if i.Failed() {
			i.Log(i.shop.Report(context.Background()))
		}
	})
}

// acting is the pod that holds the lease, once one of them does.
func (i *installedMode) acting(running map[string]*harness.Controller) string {
	i.Helper()
	var found string
	i.must(harness.Await(i.ctx, "a pod that acts", func(context.Context) error {
		for name, run := range running {
			if len(run.Log.Holding("holding the lease")) > 0 {
				found = name
				return nil
			}
		}
		return errors.New("none holds the lease")
	}))
	return found
}

// rollsOnce changes what the workload uses, which has to roll it once.
func (i *installedMode) rollsOnce(times int) {
	i.Helper()
	i.must(i.shop.AwaitAdopted(i.ctx, i.workload))
	i.edit(i)
	i.rolled(times)
}

// rolled compares how often it has rolled when everything is decided.
func (i *installedMode) rolled(times int) {
	i.Helper()
	i.must(i.shop.AwaitRolls(i.ctx, i.workload, times))
	i.must(i.shop.Quiet(i.ctx))
	got, err := i.shop.Rolls(i.ctx, i.workload)
	i.must(err)
	if got != times {
		i.Errorf("%d rollouts, want %d", got, times)
	}
}

// tested runs the command of helm test with a token of its ServiceAccount.
func (i *installedMode) tested(binary string, passes bool) {
	i.Helper()
	pod := render(i.T, i.values).tests[0]
	kubeconfig, err := i.on.Cluster.ServiceAccountKubeconfig(i.ctx, pod.Namespace, pod.Spec.ServiceAccountName)
	i.must(err)
	cmd := exec.CommandContext(i.ctx, binary, pod.Spec.Containers[0].Args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	if out, err := cmd.CombinedOutput(); (err == nil) != passes {
		i.Errorf("the command of helm test is to pass: %v; it ends with %v:\n%s", passes, err, out)
	}
}

// nothingRefused fails the test if a controller has missed a permission.
func (i *installedMode) nothingRefused(running map[string]*harness.Controller) {
	i.Helper()
	for name, run := range running {
		for _, words := range []string{"may not", "forbidden"} {
			if lines := run.Log.Holding(words); len(lines) > 0 {
				i.Errorf("pod %s misses a permission:\n%s", name, strings.Join(lines, "\n"))
			}
		}
	}
}
