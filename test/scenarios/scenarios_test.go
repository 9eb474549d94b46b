// Package scenarios runs the scripts beside it: each one is a small story of a user and the
// controller, told in manifests, steps and expectations, on a real Kubernetes. README.md lists the
// words that they are told in.
package scenarios

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// patience bounds a step that hangs. No step takes part of it on purpose, however slow the machine
// is.
const patience = 15 * time.Minute

// shared is the cluster of all scenarios that need nothing but Kubernetes, with what is made once
// for them.
var shared *setting

type setting struct {
	*stage.Stage
	// manifest says how the controller is installed.
	manifest    *harness.Manifest
	permissions *permissions
	// policies reports whether the API server has admission policies.
	policies bool
}

func TestMain(m *testing.M) {
	manifest, err := shippedManifest(harness.ShippedManifest, harness.ReadManifest)
	all, errOfAll := shippedPermissions()
	policies, errOfPolicies := cluster.ServesAdmissionPolicies()
	if err := errors.Join(err, errOfAll, errOfPolicies); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(stage.Run(m, "scenarios", 16, func(s *stage.Stage) {
		shared = &setting{s, manifest, all, policies}
		s.AtEnd = shared.allPermissionsUsed
	}))
}

// shippedManifest reads one that is shipped, with the admission policy: nothing that is told here
// may need more than that allows.
func shippedManifest(path func() (string, error), read func(string) (*harness.Manifest, error)) (*harness.Manifest, error) {
	at, err := path()
	if err != nil {
		return nil, err
	}
	m, err := read(at)
	if err != nil {
		return nil, err
	}
	served, err := cluster.ServesAdmissionPolicies()
	if err != nil {
		return nil, err
	}
	if !served {
		m.Unguard()
		return m, nil
	}
	if !m.Guarded() {
		policy, err := harness.ShippedPolicy()
		if err := errors.Join(err, m.Guard(policy)); err != nil {
			return nil, err
		}
	}
	return m, m.Together()
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	shared.run(t, ".")
}
