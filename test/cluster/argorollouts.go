package cluster

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	rolloutsModule     = "github.com/argoproj/argo-rollouts"
	rolloutsProgram    = "rollouts-controller"
	rolloutsKubeconfig = "argo-rollouts.kubeconfig"
)

// rolloutsSet is built only when a test asks for it.
func rolloutsSet() set {
	return set{
		what: "Argo Rollouts", main: "argo-rollouts", takes: "4 minutes", disk: 3 << 30,
		parts: []part{{
			name: "argo-rollouts", module: rolloutsModule, folder: "argo-rollouts",
			packages: []string{rolloutsModule + "/cmd/" + rolloutsProgram},
			ldflags:  func(version string) string { return "-X " + rolloutsModule + "/utils/version.version=" + version },
		}},
	}
}

// StartArgoRollouts builds Argo Rollouts if that was not done yet, installs its
// CustomResourceDefinitions and starts its controller, which acts on the whole cluster. It returns
// when the controller says that it is healthy.
func (c *Cluster) StartArgoRollouts(ctx context.Context, progress io.Writer) error {
	dir, err := buildSet(ctx, rolloutsSet(), progress)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	if err := c.InstallRolloutCRDs(ctx); err != nil {
		return err
	}
	// A user of its own, so that the audit log tells its writes from those of others.
	if err := c.writeIdentity(identity{file: rolloutsKubeconfig, user: "argo-rollouts", groups: []string{"system:masters"}}); err != nil {
		return err
	}
	health, err := c.ports.take(0)
	if err != nil {
		return err
	}
	metrics, err := c.ports.take(0)
	if err != nil {
		return err
	}
	p, err := c.run("argo-rollouts", filepath.Join(dir, "argo-rollouts"),
		"--kubeconfig="+c.path(rolloutsKubeconfig), "--leader-elect=false",
		"--healthzPort="+strconv.Itoa(health), "--metricsPort="+strconv.Itoa(metrics),
		"--qps=1000", "--burst=1000")
	if err != nil {
		return err
	}
	p.health = "http://127.0.0.1:" + strconv.Itoa(health) + "/healthz"
	return p.await(ctx, c.healthy(p))
}

// InstallRolloutCRDs installs what makes the API server know Rollouts and the kinds beside them,
// and returns when it serves them.
func (c *Cluster) InstallRolloutCRDs(ctx context.Context) error {
	crds, err := rolloutCRDs(ctx)
	if err != nil {
		return err
	}
	return c.installCRDs(ctx, crds)
}

// The last version whose CustomResourceDefinition says nothing of how its lists merge, so that they
// are one value each. Nothing of it is built.
const (
	earlierRollouts    = rolloutsModule + "@v1.8.4"
	earlierRolloutsSum = "h1:yRoN6/mNtb9H2VHhL09ZvF3ZfajerOrKB3EhgIGoz6c="
)

// InstallEarlierRolloutCRDs installs those of Argo Rollouts 1.8.
func (c *Cluster) InstallEarlierRolloutCRDs(ctx context.Context) error {
	dir, err := moduleAt(ctx, earlierRollouts, earlierRolloutsSum)
	if err != nil {
		return err
	}
	crds, err := readCRDs(filepath.Join(dir, "manifests", "crds", "*-crd.yaml"))
	if err != nil {
		return err
	}
	return c.installCRDs(ctx, crds)
}

// RemoveRolloutCRDs removes them, and with them every Rollout, and returns when the API server
// serves them no more.
func (c *Cluster) RemoveRolloutCRDs(ctx context.Context) error {
	crds, err := rolloutCRDs(ctx)
	if err != nil {
		return err
	}
	return c.removeCRDs(ctx, crds)
}

// rolloutCRDs reads them from the module that the controller is built from.
func rolloutCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	return pinnedCRDs(ctx, rolloutsSet(), "manifests/crds/*-crd.yaml")
}
