package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
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

// StartArgoRollouts builds Argo Rollouts if that was not done yet, installs its CustomResourceDefinitions and starts its
// controller, which acts on the whole cluster. It returns when the controller says that it is healthy.
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
	if err := c.writeIdentity(identity{rolloutsKubeconfig, "argo-rollouts", []string{"system:masters"}}); err != nil {
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

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// InstallRolloutCRDs installs what makes the API server know Rollouts and the kinds beside them, and returns when it
// serves them.
func (c *Cluster) InstallRolloutCRDs(ctx context.Context) error {
	crds, err := rolloutCRDs(ctx)
	if err != nil {
		return fmt.Errorf("read the CustomResourceDefinitions of Argo Rollouts: %w", err)
	}
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		// Server-side: with the annotation that a client-side apply leaves, they would be too large.
		if _, err := client.Resource(crdResource()).Apply(ctx, crd.GetName(), crd, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
			return fmt.Errorf("install %s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		if err := poll(ctx, nil, func(ctx context.Context) error { return established(ctx, client, crd.GetName()) },
			func(last error) error { return fmt.Errorf("%w; the last answer: %w", context.Cause(ctx), last) }); err != nil {
			return err
		}
	}
	return nil
}

// RemoveRolloutCRDs removes them, and with them every Rollout, and returns when the API server serves them no more.
func (c *Cluster) RemoveRolloutCRDs(ctx context.Context) error {
	crds, err := rolloutCRDs(ctx)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := client.Resource(crdResource()).Delete(ctx, crd.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove %s: %w", crd.GetName(), err)
		}
	}
	for _, crd := range crds {
		if err := poll(ctx, nil, func(ctx context.Context) error {
			_, err := client.Resource(crdResource()).Get(ctx, crd.GetName(), metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errors.Join(err, fmt.Errorf("%s is still there", crd.GetName()))
		}, func(last error) error { return fmt.Errorf("%w; the last answer: %w", context.Cause(ctx), last) }); err != nil {
			return err
		}
	}
	return nil
}

func established(ctx context.Context, client dynamic.Interface, name string) error {
	crd, err := client.Resource(crdResource()).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, item := range conditions {
		if condition, ok := item.(map[string]any); ok && condition["type"] == "Established" && condition["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s is not served yet", name)
}

// rolloutCRDs reads them from the module that the controller is built from.
func rolloutCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	b, err := newBuilder(rolloutsSet(), io.Discard)
	if err != nil {
		return nil, err
	}
	// Fetches the sources if the program was built elsewhere and only copied.
	cmd := b.goCommand(ctx, b.parts[0], "mod", "download", "-json", rolloutsModule)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, goFault(err, stderr.String())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "manifests", "crds", "*-crd.yaml"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("there are none in %s", module.Dir), err)
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
