// Package node_test runs containers on real nodes, and asks them what they have read. It needs
// root, containerd, runc and control groups; without them it fails and says what is missing, since
// nothing would be proven.
package node_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what the tests of this package have in common.
var shared struct {
	cluster *cluster.Cluster
	harness *harness.Harness
	admin   kubernetes.Interface
	clients cluster.Clients
	binary  string
}

func TestMain(m *testing.M) {
	if os.Getenv(asParent) != "" {
		startAndHang()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, remove, err := cluster.Folder()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := prepare(folder); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}

func prepare(folder string) error {
	ctx := context.Background()
	var err error
	if shared.clients, err = cluster.BuildClients(ctx, os.Stderr); err != nil {
		return err
	}
	options := cluster.Options{RealNodes: len(strategies()), Progress: os.Stderr}
	if shared.binary, options.Images, err = buildReroll(ctx, folder); err != nil {
		return err
	}
	for _, strategy := range strategies() {
		options.KubeletSettings = append(options.KubeletSettings, "configMapAndSecretChangeDetectionStrategy: "+strategy+"\n")
	}
	if shared.cluster, err = cluster.Start(ctx, options); err != nil {
		return err
	}
	if shared.admin, err = kubernetes.NewForConfig(shared.cluster.Config()); err != nil {
		return err
	}
	shared.harness, err = harness.New(shared.cluster)
	return err
}

// patience bounds what would hang, and nothing else.
const patience = 8 * time.Minute

// place is a namespace of a test.
type place struct {
	*harness.Namespace
	t   *testing.T
	ctx context.Context
}

func newPlace(t *testing.T) *place {
	t.Helper()
	return newPlaceOn(t, shared.harness)
}

func newPlaceOn(t *testing.T, h *harness.Harness) *place {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	n := emptyNamespace(ctx, t, h, "node")
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(n.Report(context.Background()))
		}
	})
	return &place{Namespace: n, t: t, ctx: ctx}
}

// emptyNamespace is deleted after the test: its containers would slow down those of other tests.
// Nobody waits for its end.
func emptyNamespace(ctx context.Context, t *testing.T, h *harness.Harness, name string) *harness.Namespace {
	t.Helper()
	n, err := h.EmptyNamespace(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.admin.CoreV1().Namespaces().Delete(context.Background(), n.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return n
}

// newMarkedPlace is one with what shows that nothing more comes: see harness.Namespace.Quiet.
func newMarkedPlace(t *testing.T) *place {
	t.Helper()
	p := newPlace(t)
	p.must(p.Mark(p.ctx))
	return p
}

// startController installs the controller for the namespace, and runs it until the test ends.
func (p *place) startController(flags ...string) *harness.Controller {
	p.t.Helper()
	path, err := harness.ShippedManifest()
	p.must(err)
	return p.startControllerOf(path, flags...)
}

// startControllerOf installs the controller by another manifest.
func (p *place) startControllerOf(path string, flags ...string) *harness.Controller {
	p.t.Helper()
	manifest, err := harness.ReadManifest(path)
	p.must(err)
	installation, err := p.Install(p.ctx, manifest, shared.binary)
	p.must(err)
	c, err := installation.Start(p.ctx, flags, nil)
	if c != nil {
		stage.EndWith(p.t, c, "the controller")
	}
	p.must(err)
	return c
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) apply(manifest string) {
	p.t.Helper()
	p.must(p.Apply(p.ctx, manifest))
}

func deployment(name string) harness.Ref { return harness.Ref{Kind: "deployment", Name: name} }

// awaitLedger returns when the controller has recorded what the pods of a Deployment started with.
func (p *place) awaitLedger(name string) {
	p.t.Helper()
	p.kubectl("wait", "deployment/"+name, `--for=jsonpath={.metadata.annotations.reroll\.dev/ledger}`, "--timeout=8m")
}

// kubectl returns what it prints.
func (p *place) kubectl(args ...string) string {
	p.t.Helper()
	out, err := p.tryKubectl("", args...)
	p.must(err)
	return out
}

func (p *place) tryKubectl(input string, args ...string) (string, error) {
	cmd := p.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w\n%s%s", strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

func (p *place) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, shared.clients.Kubectl, append([]string{"--namespace=" + p.Name}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.cluster.Kubeconfig())
	return cmd
}
