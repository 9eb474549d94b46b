package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

const (
	argoCDModule     = "github.com/argoproj/argo-cd/v3"
	argoCDKubeconfig = "argocd.kubeconfig"
)

// ArgoCDNamespace is where Argo CD keeps its settings and finds its Applications.
const ArgoCDNamespace = "argocd"

// argoCDSet is built only when a test asks for it.
func argoCDSet() set {
	return set{
		what: "Argo CD", main: "argo-cd", takes: "4 minutes", disk: 4 << 30,
		parts: []part{{
			name: "argo-cd", module: argoCDModule, folder: "argo-cd", packages: []string{"."},
			ldflags: func(version string) string { return "-X " + argoCDModule + "/common.version=" + version[1:] },
		}},
	}
}

// argoCDHelm is the Helm that renders charts for it.
func argoCDHelm() set { return clientSets()[2] }

// argoCDTools are the paths of Argo CD and of the Helm that it calls.
type argoCDTools struct{ argoCD, helm string }

func buildArgoCD(ctx context.Context, progress io.Writer) (argoCDTools, error) {
	dir, err := buildSet(ctx, argoCDSet(), progress)
	if err != nil {
		return argoCDTools{}, err
	}
	helm, err := buildSet(ctx, argoCDHelm(), progress)
	return argoCDTools{argoCD: filepath.Join(dir, argoCDSet().main), helm: filepath.Join(helm, argoCDHelm().main)}, err
}

// StartArgoCD builds what is not built yet and starts Argo CD's application-controller, its
// repo-server and a Redis. Applications name this cluster as https://kubernetes.default.svc and
// their repositories as file:///…, since the repo-server runs git on this machine. It returns when
// both programs say that they are healthy.
func (c *Cluster) StartArgoCD(ctx context.Context, progress io.Writer) error {
	tools, err := buildArgoCD(ctx, progress)
	if err != nil {
		return err
	}
	crds, err := pinnedCRDs(ctx, argoCDSet(), "manifests/crds/*-crd.yaml")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := c.installCRDs(ctx, crds); err != nil {
		return err
	}
	if err := c.configureArgoCD(ctx); err != nil {
		return fmt.Errorf("configure Argo CD: %w", err)
	}
	// A user of its own, so that the audit log tells its writes from those of others.
	if err := c.writeIdentity(identity{file: argoCDKubeconfig, user: "argocd", groups: []string{"system:masters"}}); err != nil {
		return err
	}
	return c.runArgoCD(ctx, tools)
}

// InstallArgoCDCRDs installs the kinds of Argo CD without its programs, of which nothing is built
// for that.
func (c *Cluster) InstallArgoCDCRDs(ctx context.Context) error {
	crds, err := pinnedCRDs(ctx, argoCDSet(), "manifests/crds/*-crd.yaml")
	if err != nil {
		return err
	}
	return c.installCRDs(ctx, crds)
}

// ArgoCDRedis is where Argo CD keeps what it has compared, once it is started.
func (c *Cluster) ArgoCDRedis() string { return c.argoCDRedis }

// configureArgoCD makes what its own installation does, and the project that its API server would
// make.
func (c *Cluster) configureArgoCD(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "argocd"}}
	}
	if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: named(ArgoCDNamespace)}, metav1.CreateOptions{}); err != nil {
		return err
	}
	settings := &corev1.ConfigMap{ObjectMeta: named("argocd-cm")}
	if _, err := client.CoreV1().ConfigMaps(ArgoCDNamespace).Create(ctx, settings, metav1.CreateOptions{}); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: named("argocd-secret"), StringData: map[string]string{"server.secretkey": "nobody-logs-in"}}
	if _, err := client.CoreV1().Secrets(ArgoCDNamespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	everything := []any{map[string]any{"group": "*", "kind": "*"}}
	project := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
		"metadata": map[string]any{"name": "default"},
		"spec": map[string]any{
			"sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}},
			"clusterResourceWhitelist": everything,
		},
	}}
	projects := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "appprojects"}
	_, err = objects.Resource(projects).Namespace(ArgoCDNamespace).Create(ctx, project, metav1.CreateOptions{})
	return err
}

// noVerification stands for the script that its image has for signatures of commits. Argo CD calls
// it although it is not asked to verify any, and refuses a repository when it fails.
const noVerification = "#!/bin/sh\nexit 0\n"

func (c *Cluster) runArgoCD(ctx context.Context, tools argoCDTools) error {
	home := c.path("argocd")
	for _, folder := range []string{"bin", "tmp", "tls", "ssh", "plugins"} {
		if err := os.MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(home, "bin", "git-verify-wrapper.sh"), []byte(noVerification), 0o700); err != nil { //nolint:gosec // it is to be run
		return err
	}
	if err := os.Symlink(tools.helm, filepath.Join(home, "bin", "helm")); err != nil {
		return err
	}
	env := []string{
		"KUBECONFIG=" + c.path(argoCDKubeconfig), "ARGOCD_FAKE_IN_CLUSTER=true", "ARGOCD_GPG_ENABLED=false",
		"ARGOCD_TLS_DATA_PATH=" + filepath.Join(home, "tls"), "ARGOCD_SSH_DATA_PATH=" + filepath.Join(home, "ssh"),
		c.argoCDPlugins(),
		"ARGOCD_ASK_PASS_SOCK=" + filepath.Join(home, "ask-pass"),
		"TMPDIR=" + filepath.Join(home, "tmp"), "HOME=" + home,
		"PATH=" + filepath.Join(home, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH"),
	}
	var ports [4]int
	for i := range ports {
		var err error
		if ports[i], err = c.ports.take(0); err != nil {
			return err
		}
	}
	address := func(i int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[i])) }
	c.argoCDRedis = address(0)
	if _, err := c.runWith("argocd-redis", env, tools.argoCD, "redis", address(0)); err != nil {
		return err
	}
	repoServer, err := c.runWith("argocd-repo-server", env, tools.argoCD, "repo-server",
		"--address=127.0.0.1", "--port="+strconv.Itoa(ports[1]),
		"--metrics-address=127.0.0.1", "--metrics-port="+strconv.Itoa(ports[2]),
		"--disable-tls", "--client-ca-path=", "--redis="+address(0),
		// What a branch points to is asked again this often; the default is three minutes.
		"--revision-cache-expiration=1s")
	if err != nil {
		return err
	}
	repoServer.health = "http://" + address(2) + "/healthz?full=true"
	controller, err := c.runWith("argocd-application-controller", env, tools.argoCD, "application-controller",
		"--kubeconfig="+c.path(argoCDKubeconfig), "--namespace="+ArgoCDNamespace, "--metrics-port="+strconv.Itoa(ports[3]),
		"--repo-server="+address(1), "--repo-server-plaintext", "--redis="+address(0),
		// It looks at the repositories this often; the default is two minutes.
		"--app-resync=10", "--app-resync-jitter=0")
	if err != nil {
		return err
	}
	controller.health = "http://" + address(3) + "/healthz"
	if err := repoServer.await(ctx, c.healthy(repoServer)); err != nil {
		return err
	}
	return controller.await(ctx, c.healthy(controller))
}
