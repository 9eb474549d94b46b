package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

func crdResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// installCRDs returns when the API server serves them.
func (c *Cluster) installCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
	client, err := dynamic.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		// Server-side: with the annotation that a client-side apply leaves, they would be too
		// large.
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

// removeCRDs returns when the API server serves them no more.
func (c *Cluster) removeCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
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

// InstallCRDs installs CustomResourceDefinitions from YAML documents, and returns their names when
// the API server serves them: the plural, and the group behind it.
func (c *Cluster) InstallCRDs(ctx context.Context, text []byte) ([]string, error) {
	crds, err := parseCRDs(text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, crd := range crds {
		names = append(names, crd.GetName())
	}
	return names, c.installCRDs(ctx, crds)
}

// RemoveCRDs removes them, and with them every object, and returns when the API server serves them
// no more.
func (c *Cluster) RemoveCRDs(ctx context.Context, text []byte) error {
	crds, err := parseCRDs(text)
	if err != nil {
		return err
	}
	return c.removeCRDs(ctx, crds)
}

func parseCRDs(text []byte) ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return crds, nil
		}
		crd := &unstructured.Unstructured{}
		if err := errors.Join(err, yaml.Unmarshal(document, &crd.Object)); err != nil {
			return nil, fmt.Errorf("read CustomResourceDefinitions: %w", err)
		}
		if len(crd.Object) > 0 {
			crds = append(crds, crd)
		}
	}
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

// pinnedCRDs reads them from the module that the first part of a set is built from.
func pinnedCRDs(ctx context.Context, s set, pattern string) ([]*unstructured.Unstructured, error) {
	b, err := newBuilder(s, io.Discard)
	if err != nil {
		return nil, err
	}
	// Fetches the sources if the program was built elsewhere and only copied.
	dir, _, err := downloaded(b.goCommand(ctx, b.parts[0], "mod", "download", "-json", b.parts[0].module))
	if err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinitions of %s: %w", s.what, err)
	}
	return readCRDs(filepath.Join(dir, filepath.FromSlash(pattern)))
}

// moduleAt returns where a module is that no go.mod pins, since nothing of it is built: its hash
// does.
func moduleAt(ctx context.Context, at, wanted string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", at)
	cmd.Dir = os.TempDir() // in no module
	path, _, _ := strings.Cut(at, "@")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GONOSUMDB="+path)
	dir, sum, err := downloaded(cmd)
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w", at, err)
	}
	if sum != wanted {
		return "", fmt.Errorf("%s is not what was pinned: its hash is %s, not %s", at, sum, wanted)
	}
	return dir, nil
}

// downloaded runs go mod download and returns where the module is, and the hash of what is in it.
func downloaded(cmd *exec.Cmd) (dir, sum string, err error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", "", goFault(err, stderr.String()+string(out))
	}
	var module struct{ Dir, Sum string }
	err = json.Unmarshal(out, &module)
	return module.Dir, module.Sum, err
}

func readCRDs(pattern string) ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("there are no CustomResourceDefinitions at %s", pattern), err)
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
