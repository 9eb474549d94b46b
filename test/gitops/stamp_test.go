package gitops

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

const (
	stamper        = "reroll-stamp"
	stamperExample = "../../examples/stamp/argo-cd"
)

func readExample[T any](file string) (object T, err error) {
	text, err := os.ReadFile(filepath.Join(stamperExample, file))
	if err != nil {
		return object, err
	}
	return object, yaml.UnmarshalStrict(text, &object)
}

// startStamper runs the plugin of the example, with what its sidecar has on the PATH.
func (s *site) startStamper(ctx context.Context) error {
	config, err := readExample[corev1.ConfigMap]("plugin.yaml")
	if err != nil {
		return err
	}
	clients, err := s.clients()
	if err != nil {
		return err
	}
	binary, err := s.Binary()
	if err != nil {
		return err
	}
	return s.Cluster.StartArgoCDPlugin(ctx, cluster.ArgoCDPlugin{
		Name: stamper, Config: config.Data,
		Programs: map[string]string{"reroll": binary, "kustomize": clients.Kustomize, "helm": clients.Helm3},
	}, os.Stderr)
}

const (
	stampedBuild    = "resources: [base/settings.yaml, web.yaml]\n"
	stampedSettings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {revised: once}}
data: {greeting: hello}
`
	stampedWeb = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: web
          envFrom: [{configMapRef: {name: settings}}]
`
)

// stampedApp is the Application of the example, for a repository of the test.
type stampedApp struct {
	*application
	repo *repository
}

func (p *place) deployStamped(repo *repository) *stampedApp {
	p.Helper()
	p.must(p.stamper())
	manifest, err := readExample[map[string]any]("application.yaml")
	p.must(err)
	for path, value := range map[string]string{
		"metadata.name": p.ns.Name, "spec.source.repoURL": repo.URL(), "spec.source.path": ".", "spec.destination.namespace": p.ns.Name,
	} {
		p.must(unstructured.SetNestedField(manifest, value, strings.Split(path, ".")...))
	}
	return &stampedApp{application: p.create(&unstructured.Unstructured{Object: manifest}), repo: repo}
}

// brings commits, and returns the stamp when Argo CD has brought that, with how often web has
// rolled since the beginning.
func (a *stampedApp) brings(message string, changed files) (stamp string, rolls int) {
	a.Helper()
	revision := a.repo.commit(message, changed)
	a.refresh()
	// What is rendered as before is not synced again.
	_, err := a.Await(a.ctx, "as "+revision+" says", func(s *argocd.State) error {
		if s.Status.Sync.Revision != revision || s.Status.Sync.Status != "Synced" || s.Status.Health.Status != "Healthy" {
			return fmt.Errorf("it is %+v", s.Status)
		}
		return nil
	})
	a.must(err)
	return a.web()
}

func (a *stampedApp) web() (stamp string, rolls int) {
	a.Helper()
	web := harness.Ref{Kind: "deployment", Name: "web"}
	a.must(a.ns.AwaitReady(a.ctx, web))
	rolls, err := a.ns.Rolls(a.ctx, web)
	a.must(err)
	present, err := a.Admin.AppsV1().Deployments(a.ns.Name).Get(a.ctx, "web", metav1.GetOptions{})
	a.must(err)
	return present.Spec.Template.Annotations["checksum/config"], rolls
}

// refuses commits what cannot be rendered, and returns when Argo CD has said so. Nothing is
// touched.
func (a *stampedApp) refuses(message, because string, changed files) {
	a.Helper()
	stamp, rolls := a.web()
	a.repo.commit(message, changed)
	a.refresh()
	_, err := a.Await(a.ctx, "told "+because, func(s *argocd.State) error {
		for _, c := range s.Status.Conditions {
			if c.Type == "ComparisonError" && strings.Contains(c.Message, because) {
				return nil
			}
		}
		return fmt.Errorf("it says %+v", s.Status.Conditions)
	})
	a.must(err)
	if _, err := a.Admin.CoreV1().ConfigMaps(a.ns.Name).Get(a.ctx, "settings", metav1.GetOptions{}); err != nil {
		a.Errorf("%s: %v", message, err)
	}
	if now, n := a.web(); now != stamp || n != rolls {
		a.Errorf("%s: the stamp is %s after %d rollouts, and was %s after %d", message, now, n, stamp, rolls)
	}
}

// No controller is there at first: the stamp alone rolls. With one beside it, a change is still one
// rollout.
func TestAPluginOfArgoCDStampsWhatItRenders(t *testing.T) {
	p := newPlace(t)
	repo := p.newRepository()
	a := p.deployStamped(repo)
	const settings = "base/settings.yaml"
	first, rolls := a.brings("web", files{"kustomization.yaml": stampedBuild, settings: stampedSettings, "web.yaml": stampedWeb})
	if !strings.HasPrefix(first, digest.StampPrefix) || rolls != 0 {
		t.Fatalf("the stamp is %q after %d rollouts", first, rolls)
	}
	if stamp, rolls := a.brings("another label", files{
		"kustomization.yaml": "", "kustomization.yml": stampedBuild, settings: strings.Replace(stampedSettings, "once", "twice", 1),
	}); stamp != first || rolls != 0 {
		t.Errorf("another label of the ConfigMap made %s of %s, and %d rollouts", stamp, first, rolls)
	}
	second, rolls := a.brings("another greeting", files{
		"kustomization.yml": "", "Kustomization": stampedBuild, settings: strings.Replace(stampedSettings, "hello", "good morning", 1),
	})
	if second == first || rolls != 1 {
		t.Errorf("other data made %s of %s, and %d rollouts", second, first, rolls)
	}
	p.start(beyondASync)
	third, _ := a.brings("a third one", files{settings: strings.Replace(stampedSettings, "hello", "good night", 1)})
	p.must(p.ns.Quiet(p.ctx))
	if _, rolls := a.web(); third == second || rolls != 2 {
		t.Errorf("with the controller beside it: %s of %s, and %d rollouts in all", third, second, rolls)
	}

	a.refuses("a ConfigMap less", "Deployment "+p.ns.Name+"/web: ConfigMap "+p.ns.Name+"/settings, which it needs, is not in these manifests", files{"Kustomization": "resources: [web.yaml]\n"})
	a.refuses("a file that is not there", "missing.yaml", files{"Kustomization": "resources: [missing.yaml, " + settings + ", web.yaml]\n"})
}

// The patch of docs/how-to/stamp.md is for the Deployment that Argo CD ships in the version of
// these tests.
func TestTheSidecarFitsTheRepoServer(t *testing.T) {
	p := newPlace(t)
	clients, err := p.clients()
	p.must(err)
	list := exec.CommandContext(p.ctx, "go", "list", "-m", "-f={{.Dir}} {{.Version}}", "github.com/argoproj/argo-cd/v3")
	list.Dir, list.Env = "../cluster/tools/argo-cd", append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := list.Output()
	p.must(err)
	module, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	shipped, err := os.ReadFile(filepath.Join(module, "manifests/base/repo-server/argocd-repo-server-deployment.yaml"))
	p.must(err)
	p.must(p.ns.Apply(p.ctx, string(shipped)))

	examples, err := filepath.Abs(stamperExample)
	p.must(err)
	u := &program{place: p, home: p.TempDir()}
	p.must(u.call(clients.Kubectl, "apply", "--filename="+filepath.Join(examples, "plugin.yaml")))
	p.must(u.call(clients.Kubectl, "patch", "deployment", "argocd-repo-server", "--patch-file="+filepath.Join(examples, "sidecar.yaml")))
	patched, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(p.ctx, "argocd-repo-server", metav1.GetOptions{})
	p.must(err)
	spec := patched.Spec.Template.Spec
	at := func(name string) *corev1.Container {
		t.Helper()
		i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == name })
		if i < 0 || len(spec.Containers) != 2 {
			t.Fatalf("its containers are %+v", spec.Containers)
		}
		return &spec.Containers[i]
	}
	server, sidecar := at("argocd-repo-server"), at(stamper)
	if want := "quay.io/argoproj/argocd:" + version; sidecar.Image != want {
		t.Errorf("the image of the sidecar is %s, and these tests run %s", sidecar.Image, want)
	}
	mount := func(c *corev1.Container, path string) string {
		i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path })
		if i < 0 {
			t.Fatalf("%s has nothing at %s", c.Name, path)
		}
		return c.VolumeMounts[i].Name
	}
	const sockets = "/home/argocd/cmp-server/plugins" // of which Argo CD has no other unless it is told
	if mount(server, sockets) != mount(sidecar, sockets) || mount(server, "/tmp") == mount(sidecar, "/tmp") {
		t.Errorf("the sidecar mounts %+v, and the server %+v", sidecar.VolumeMounts, server.VolumeMounts)
	}
	volume := func(name string) corev1.Volume {
		return spec.Volumes[slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })]
	}
	config := volume(mount(sidecar, "/home/argocd/cmp-server/config"))
	if _, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Get(p.ctx, config.ConfigMap.Name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	path, _, _ := strings.Cut(sidecar.Env[0].Value, ":")
	manifest, err := harness.ShippedManifest()
	p.must(err)
	text, err := os.ReadFile(manifest)
	p.must(err)
	if image := volume(mount(sidecar, path)).Image.Reference; !strings.Contains(string(text), fmt.Sprintf("image: %q\n", image)) {
		t.Errorf("what is on its PATH is of %s, and %s has another image", image, manifest)
	}

	restricted := []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`)
	_, err = p.Admin.CoreV1().Namespaces().Patch(p.ctx, p.ns.Name, types.MergePatchType, restricted, metav1.PatchOptions{})
	p.must(err)
	spec.ServiceAccountName, spec.DeprecatedServiceAccount = "", "" // there is no such account here, and it makes no difference
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "repo-server"}, Spec: spec}
	_, err = p.Admin.CoreV1().Pods(p.ns.Name).Create(p.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	p.must(err)
}
