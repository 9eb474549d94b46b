// Package stage sets up what the tests of a package share: a cluster, a harness on it, and the
// controller.
package stage

import (
	"context"
	"errors"
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

// Stage is a cluster with what is needed to try a controller on it.
type Stage struct {
	Cluster *cluster.Cluster
	Harness *harness.Harness
	// Admin has every permission.
	Admin kubernetes.Interface
	// Binary builds the controller once. Every test that starts one waits for it.
	Binary func() (string, error)
	// AtEnd is called when all tests of a package have passed, if it is there, and fails them.
	AtEnd func() error
}

// New starts a cluster, which the caller has to stop. The flags are for its API server.
func New(ctx context.Context, binary func() (string, error), flags ...string) (*Stage, error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr, APIServerFlags: flags})
	if err != nil {
		return nil, err
	}
	return on(c, binary)
}

func on(c *cluster.Cluster, binary func() (string, error)) (*Stage, error) {
	s := &Stage{Cluster: c, Binary: binary}
	var err error
	if s.Harness, err = harness.New(c); err == nil {
		s.Admin, err = kubernetes.NewForConfig(c.Config())
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return s, nil
}

// OfTest is a stage with a cluster of its own, for a test that changes what all others would see.
// It ends after the test and its subtests.
func OfTest(t *testing.T, binary func() (string, error), flags ...string) *Stage {
	t.Helper()
	own, err := New(t.Context(), binary, flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := own.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return own
}

// Run runs the tests of a package with a stage that they share, and returns the exit code. So many
// of them run at the same time, unless the command line says otherwise: they wait far more than
// they compute, whatever the number of processors is. Other packages may use its cluster too (see
// cluster.Borrow).
func Run(m *testing.M, name string, parallel int, use func(*Stage)) int {
	return run(m, name, parallel, cluster.Borrow, use)
}

// RunAlone is Run with a cluster of its own, for a package whose tests change what all others would
// see, count or time what one API server does, or start controllers that watch all namespaces.
func RunAlone(m *testing.M, name string, parallel int, use func(*Stage)) int {
	return run(m, name, parallel, cluster.Start, use)
}

type start func(context.Context, cluster.Options) (*cluster.Cluster, error)

func run(m *testing.M, name string, parallel int, start start, use func(*Stage)) int {
	if err := atOnce(parallel); err != nil {
		return fail(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	folder, err := os.MkdirTemp("", "reroll-"+name+"-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary := sync.OnceValues(func() (string, error) { return harness.ForTests(ctx, folder) })
	go func() { _, _ = binary() }() // while the cluster starts
	c, err := start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return fail(err)
	}
	s, err := on(c, binary)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = s.Cluster.Stop() }()
	use(s)
	code := m.Run()
	if code == 0 && s.AtEnd != nil {
		if err := s.AtEnd(); err != nil {
			return fail(err)
		}
	}
	return code
}

func atOnce(parallel int) error {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(parallel))
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// EndWith ends a controller with its test, shows the end of its log if that has failed, and fails
// it if the controller has raced or panicked.
func EndWith(tb testing.TB, c *harness.Controller, name string) {
	tb.Helper()
	tb.Cleanup(func() {
		c.Kill()
		if tb.Failed() {
			tb.Logf("the end of the log of %s:\n%s", name, c.Log.Tail(40))
		}
		if err := c.Sound(); err != nil {
			tb.Errorf("%s: %v", name, err)
		}
	})
}
