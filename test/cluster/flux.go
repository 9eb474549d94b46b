package cluster

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
)

const (
	fluxModule     = "github.com/fluxcd/kustomize-controller"
	fluxKubeconfig = "flux.kubeconfig"
	// FluxNamespace is where Flux finds its Kustomizations.
	FluxNamespace = "flux-system"
)

// Of the source-controller nothing is built: the kustomize-controller watches its kinds, so they
// have to be served. To pin it in a go.mod would bring the sources of all that it is made of.
const (
	fluxSources    = "github.com/fluxcd/source-controller@v1.9.0"
	fluxSourcesSum = "h1:5msg2yyjVYDULZos+2ve8MZzcSqTpusiXmrOeBhc9yY="
)

// fluxSet is built only when a test asks for it.
func fluxSet() set {
	return set{
		what: "Flux", main: "kustomize-controller", takes: "4 minutes", disk: 4 << 30,
		parts: []part{{
			name: "kustomize-controller", module: fluxModule, folder: "kustomize-controller", packages: []string{fluxModule},
			ldflags: func(string) string { return "" },
		}},
	}
}

// StartFlux builds Flux's kustomize-controller if that was not done yet and starts it. There is no
// source-controller: who makes a GitRepository writes into its status where the artifact is. It
// returns when the controller says that it is ready.
func (c *Cluster) StartFlux(ctx context.Context, progress io.Writer) error {
	dir, err := buildSet(ctx, fluxSet(), progress)
	if err != nil {
		return err
	}
	crds, err := fluxCRDs(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := c.installCRDs(ctx, crds); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: FluxNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := c.writeIdentity(identity{file: fluxKubeconfig, user: "flux", groups: []string{"system:masters"}}); err != nil {
		return err
	}
	metrics, err := c.ports.take(0)
	if err != nil {
		return err
	}
	health, err := c.ports.take(0)
	if err != nil {
		return err
	}
	folder := c.path("flux")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	p, err := c.runWith("kustomize-controller",
		[]string{"KUBECONFIG=" + c.path(fluxKubeconfig), "RUNTIME_NAMESPACE=" + FluxNamespace, "TMPDIR=" + folder, "HOME=" + folder},
		filepath.Join(dir, "kustomize-controller"),
		"--watch-all-namespaces", "--log-level=info", "--log-encoding=json",
		"--metrics-addr=127.0.0.1:"+strconv.Itoa(metrics), "--health-addr=127.0.0.1:"+strconv.Itoa(health))
	if err != nil {
		return err
	}
	p.health = "http://127.0.0.1:" + strconv.Itoa(health) + "/readyz"
	return p.await(ctx, c.healthy(p))
}

func fluxCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	crds, err := pinnedCRDs(ctx, fluxSet(), "config/crd/bases/*.yaml")
	if err != nil {
		return nil, err
	}
	dir, err := moduleAt(ctx, fluxSources, fluxSourcesSum)
	if err != nil {
		return nil, err
	}
	sources, err := readCRDs(filepath.Join(dir, "config", "crd", "bases", "*.yaml"))
	return append(crds, sources...), err
}
