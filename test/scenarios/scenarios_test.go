// Package scenarios runs the scripts beside it: each one is a small story of a user and the controller, told in
// manifests, steps and expectations, on a real Kubernetes. README.md lists the words that they are told in.
package scenarios

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// patience bounds a step that hangs. No step takes part of it on purpose, however slow the machine is.
const patience = 4 * time.Minute

// shared is the cluster of all scenarios that need nothing but Kubernetes, with what is made once for them.
var shared *stage

type stage struct {
	kubeconfig string
	auditLog   string
	cluster    *cluster.Cluster
	harness    *harness.Harness
	// manifest says how the controller is installed.
	manifest func() (string, error)
	// binary builds the controller when it is first asked for. Every scenario that starts one waits for it.
	binary func() (string, error)
}

// newStage starts a cluster, which the caller has to stop.
func newStage(ctx context.Context, binary func() (string, error)) (*stage, error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	h, err := harness.New(c)
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return &stage{
		kubeconfig: c.Kubeconfig(), auditLog: c.AuditLog(), cluster: c, harness: h,
		manifest: harness.ShippedManifest, binary: binary,
	}, nil
}

func TestMain(m *testing.M) {
	os.Exit(onStage(m))
}

func onStage(m *testing.M) int {
	// Scenarios wait far more than they compute, so there is no use in running one for each processor only.
	flag.Parse()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		if err := parallel.Value.Set("16"); err != nil {
			return fail(err)
		}
	}
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "reroll-scenarios-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(folder)
	binary := sync.OnceValues(func() (string, error) { return harness.Build(ctx, folder, true) })
	if shared, err = newStage(ctx, binary); err != nil {
		return fail(err)
	}
	defer shared.cluster.Stop()
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(shared, patience, testscript.Params{Dir: "."}))
}
