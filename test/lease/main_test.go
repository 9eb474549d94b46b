// Package lease runs two controllers beside each other, as a Deployment with several replicas or an
// upgrade does, and ends, kills and freezes them at the worst moments.
package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what all tests of this process use.
var shared *stage.Stage

func TestMain(m *testing.M) {
	os.Exit(stage.Run(m, "lease", 8, func(s *stage.Stage) { shared = s }))
}

// patience bounds what would hang, and nothing else.
const patience = 4 * time.Minute

// installation is a namespace with the controller's account and permissions in it, and a workload
// to look after.
type installation struct {
	*testing.T
	ctx       context.Context
	ns        *harness.Namespace
	installed *harness.Installation
	order     order // of all that goes through the proxies
}

var (
	web       = harness.Ref{Kind: "deployment", Name: "web"}
	webConfig = harness.Ref{Kind: "configmap", Name: "web"}
)

const manifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {colour: green}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}
`

func install(t *testing.T) *installation {
	t.Helper()
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	i := &installation{T: t, ctx: ctx}
	binary, err := shared.Binary()
	i.must(err)
	path, err := harness.ShippedManifest()
	i.must(err)
	m, err := harness.ReadManifest(path)
	i.must(err)
	i.ns, err = shared.Harness.Namespace(ctx, "lease")
	i.must(err)
	i.installed, err = i.ns.Install(ctx, m, binary)
	i.must(err)
	i.must(i.ns.Apply(ctx, manifest))
	i.must(i.ns.AwaitReady(ctx, web))
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(i.ns.Report(context.Background()))
		}
	})
	return i
}

func (i *installation) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// instance is a controller that runs, and the proxy by which it reaches the API server.
type instance struct {
	*harness.Controller
	proxy *proxy
}

// start runs an instance and returns when it is ready.
func (i *installation) start(pod string, flags ...string) *instance {
	i.Helper()
	c, err := i.tryStart(pod, nil, flags...)
	i.must(err)
	return c
}

func (i *installation) tryStart(pod string, env []string, flags ...string) (*instance, error) {
	i.Helper()
	p, kubeconfig := i.proxy()
	env = append([]string{"POD_NAME=" + pod, "KUBECONFIG=" + kubeconfig}, env...)
	c, err := i.installed.Start(i.ctx, flags, env)
	if c == nil {
		i.Fatal(err)
	}
	stage.EndWith(i, c, pod)
	return &instance{c, p}, err
}

// says returns when the log has a line that holds all of these words.
func (i *installation) says(c *instance, words ...string) {
	i.Helper()
	_, err := c.Says(i.ctx, words...)
	i.must(err)
}

// ended returns the exit code of an instance that ends by itself.
func (i *installation) ended(c *instance) int {
	i.Helper()
	select {
	case <-c.Done():
	case <-i.ctx.Done():
		i.Fatalf("it has not ended; the end of its log:\n%s", c.Log.Tail(20))
	}
	err := c.Running()
	ended, ok := errors.AsType[*harness.EndedError](err)
	if !ok {
		i.Fatalf("%T %v", err, err)
	}
	return ended.Code
}

// rollsOnce returns when the workload has rolled once more, and nothing else is to come.
func (i *installation) rollsOnce(rolledBefore int) {
	i.Helper()
	i.must(i.ns.AwaitRolls(i.ctx, web, rolledBefore+1))
	i.must(i.ns.AwaitFresh(i.ctx, web, webConfig))
	i.must(i.ns.Quiet(i.ctx))
	rolled, err := i.ns.Rolls(i.ctx, web)
	i.must(err)
	if rolled != rolledBefore+1 {
		i.Errorf("rolled %d times, want %d", rolled, rolledBefore+1)
	}
}

// edit changes the source when the workload has its ledger. Edits before that are judged by other
// evidence, which is not the subject here.
func (i *installation) edit(value string) {
	i.Helper()
	i.must(i.ns.AwaitAdopted(i.ctx, web))
	i.must(i.ns.Edit(i.ctx, webConfig, "colour="+value))
}

func (i *installation) lease() *coordinationv1.Lease {
	i.Helper()
	l, err := shared.Admin.CoordinationV1().Leases(i.ns.Name).Get(i.ctx, lease.Name, metav1.GetOptions{})
	i.must(err)
	return l
}

func (i *installation) heldBy(want string) {
	i.Helper()
	if got := *i.lease().Spec.HolderIdentity; got != want {
		i.Errorf("the lease is held by %q, want %q", got, want)
	}
}

// kubeconfigFile is where a proxy's kubeconfig goes.
func (i *installation) kubeconfigFile(name string) string { return filepath.Join(i.TempDir(), name) }
