// Package faults runs histories on a real API server. Users change sources and workloads; the controller is the real
// program, under the rights it is shipped with; between it and the API server stands a proxy that refuses, delays,
// drops, holds back and cuts, and that kills the controller at chosen points. A history is drawn from a seed. Who judges
// it knows nothing of the controller: it watches the API server itself, past the proxy, and compares the content under
// which each pod was created with the content now, and the rollouts with the changes.
//
// Pods run no containers here. What a container would have read is taken from the order of versions: a pod has the
// content that a source had in the version in which the pod was created.
package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// shared is what all histories of this process use.
var shared *stage

type stage struct {
	cluster *cluster.Cluster
	harness *harness.Harness
	admin   kubernetes.Interface
	binary  func() (string, error)
}

func TestMain(m *testing.M) { os.Exit(onStage(m)) }

func onStage(m *testing.M) int {
	flag.Parse()
	// Histories wait more than they compute, whatever the number of processors is.
	if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "reroll-faults-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return fail(err)
	}
	defer func() { _ = c.Stop() }()
	h, err := harness.New(c)
	if err != nil {
		return fail(err)
	}
	admin, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return fail(err)
	}
	shared = &stage{
		cluster: c, harness: h, admin: admin,
		binary: sync.OnceValues(func() (string, error) { return harness.Build(ctx, folder, true) }),
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
