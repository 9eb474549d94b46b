package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

const (
	secretsStoreModule     = "sigs.k8s.io/secrets-store-csi-driver"
	secretsStoreProgram    = "secrets-store-csi-driver"
	secretsStoreKubeconfig = "secrets-store.kubeconfig"
	// secretsStoreProvider is what classes name.
	secretsStoreProvider = "vault"
)

// secretsStoreSet is built only when a test asks for it: the driver, and what asks it as a kubelet does and
// answers it as a provider does.
func secretsStoreSet() set {
	return set{
		what: "the Secrets Store CSI driver", main: "secrets-store", takes: "2 minutes", disk: 1 << 30,
		parts: []part{{
			name: "secrets-store", module: secretsStoreModule, folder: "secrets-store",
			packages: []string{".", secretsStoreModule + "/cmd/" + secretsStoreProgram},
			ldflags: func(version string) string {
				return "-X " + secretsStoreModule + "/pkg/version.BuildVersion=" + version
			},
		}},
	}
}

// SecretsStore is the Secrets Store CSI driver of one node, with a kubelet and a provider that follow
// commands, one at a time. The driver mounts, which only root may.
type SecretsStore struct {
	ask   *json.Encoder
	input io.Closer
	says  *bufio.Scanner
	cmd   *exec.Cmd
}

// StartSecretsStore builds it if that was not done yet, installs its CustomResourceDefinitions and starts
// it. It looks at a volume again whenever it is asked to.
func (c *Cluster) StartSecretsStore(ctx context.Context, progress io.Writer) (*SecretsStore, error) {
	dir, err := buildSet(ctx, secretsStoreSet(), progress)
	if err != nil {
		return nil, err
	}
	if err := c.InstallCSICRDs(ctx); err != nil {
		return nil, err
	}
	if err := c.writeIdentity(identity{file: secretsStoreKubeconfig, user: "secrets-store", groups: []string{"system:masters"}}); err != nil {
		return nil, err
	}
	// A socket in the folder of the cluster: its name is short enough.
	socket, providers := c.path("csi.sock"), c.path(".")
	if _, err := c.runWith("secrets-store", []string{"KUBECONFIG=" + c.path(secretsStoreKubeconfig)}, filepath.Join(dir, secretsStoreProgram),
		"--endpoint=unix://"+socket, "--nodeid=node-1", "--provider-volume="+providers, "--additional-provider-volume-paths="+providers,
		"--metrics-addr=0", "--enable-secret-rotation", "--rotation-poll-interval=1ns"); err != nil {
		return nil, err
	}
	cmd := exec.Command(filepath.Join(dir, "secrets-store"), socket, filepath.Join(providers, secretsStoreProvider+".sock"), c.path("volumes")) //nolint:noctx // it ends with its input
	cmd.Stderr = progress
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &SecretsStore{ask: json.NewEncoder(input), input: input, says: bufio.NewScanner(output), cmd: cmd}, cmd.Start()
}

// Store has the provider hand out these versions of the objects of a class from now on.
func (s *SecretsStore) Store(class string, versions map[string]string) error {
	return s.do(map[string]any{"do": "store", "class": class, "versions": versions})
}

// Publish asks the driver to mount a class for a Pod, or to look at the volume again.
func (s *SecretsStore) Publish(pod types.NamespacedName, uid types.UID, class string) error {
	return s.do(map[string]any{"do": "publish", "class": class, "namespace": pod.Namespace, "pod": pod.Name, "uid": uid})
}

func (s *SecretsStore) do(command map[string]any) error {
	if err := s.ask.Encode(command); err != nil {
		return err
	}
	if !s.says.Scan() {
		return fmt.Errorf("the kubelet has ended: %w", errors.Join(s.says.Err(), io.ErrUnexpectedEOF))
	}
	var said string
	if err := json.Unmarshal(s.says.Bytes(), &said); err != nil {
		return err
	}
	if said != "" {
		return errors.New(said)
	}
	return nil
}

// Stop unmounts all volumes. The driver ends with the cluster.
func (s *SecretsStore) Stop() error {
	return errors.Join(s.input.Close(), s.cmd.Wait())
}

// InstallCSICRDs installs the kinds of the driver, and returns when the API server serves them.
func (c *Cluster) InstallCSICRDs(ctx context.Context) error {
	crds, err := csiCRDs(ctx)
	if err != nil {
		return err
	}
	return c.installCRDs(ctx, crds)
}

// RemoveCSICRDs removes them with all there are, and returns when the API server serves them no
// more.
func (c *Cluster) RemoveCSICRDs(ctx context.Context) error {
	crds, err := csiCRDs(ctx)
	if err != nil {
		return err
	}
	return c.removeCRDs(ctx, crds)
}

// csiCRDs reads them from the module that the driver is built from.
func csiCRDs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	return pinnedCRDs(ctx, secretsStoreSet(), "config/crd/bases/*.yaml")
}
