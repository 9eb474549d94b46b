package cluster

import (
	"context"
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed crds/secrets-store.yaml
var secretsStore string

// InstallCSICRDs installs the kinds of the Secrets Store CSI driver, and returns when the API
// server serves them.
func (c *Cluster) InstallCSICRDs(ctx context.Context) error {
	crds, err := csiCRDs()
	if err != nil {
		return err
	}
	return c.installCRDs(ctx, crds)
}

// RemoveCSICRDs removes them with all there are, and returns when the API server serves them no
// more.
func (c *Cluster) RemoveCSICRDs(ctx context.Context) error {
	crds, err := csiCRDs()
	if err != nil {
		return err
	}
	return c.removeCRDs(ctx, crds)
}

func csiCRDs() ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for text := range strings.SplitSeq(secretsStore, "\n---\n") {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &crd.Object); err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
