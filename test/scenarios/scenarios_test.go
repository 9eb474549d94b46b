// Package scenarios runs the scripts beside it: each one is a small story of a user and the controller, told in
// manifests, steps and expectations, on a real Kubernetes. README.md lists the words that they are told in.
package scenarios

import (
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// patience bounds a step that hangs. No step takes part of it on purpose, however slow the machine is.
const patience = 4 * time.Minute

// shared is the cluster of all scenarios that need nothing but Kubernetes, with what is made once for them.
var shared *setting

type setting struct {
	*stage.Stage
	// manifest says how the controller is installed.
	manifest func() (string, error)
}

func TestMain(m *testing.M) {
	os.Exit(stage.Run(m, "scenarios", 16, func(s *stage.Stage) { shared = &setting{s, harness.ShippedManifest} }))
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(shared, patience, testscript.Params{Dir: "."}))
}
