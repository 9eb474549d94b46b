package scenarios

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// permissions compares those that are shipped with what the API servers of all scenarios were
// asked.
type permissions struct {
	mu sync.Mutex
	// unused are those that no scenario has needed yet, by the file.
	unused map[string][]harness.Grant
}

func shippedPermissions() (*permissions, error) {
	paths, err := harness.ShippedManifests()
	if err != nil {
		return nil, err
	}
	all := &permissions{unused: map[string][]harness.Grant{}}
	for _, path := range paths {
		m, err := harness.ReadRendered(path)
		if err != nil {
			return nil, err
		}
		if all.unused[filepath.Base(path)], err = m.Grants(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// notePermissions looks through all that the API server of a setting was asked by controllers. They
// may not have asked for anything that they have no permission to.
func (s *setting) notePermissions() error {
	grants, err := s.manifest.Grants()
	if err != nil {
		return err
	}
	asked, err := s.Harness.AllRequests(s.manifest, s.Cluster.AuditLog())
	if err != nil {
		return err
	}
	s.permissions.mu.Lock()
	defer s.permissions.mu.Unlock()
	for file, unused := range s.permissions.unused {
		s.permissions.unused[file] = harness.Unused(unused, asked)
	}
	var errs []error
	for _, r := range harness.Refused(grants, asked) {
		errs = append(errs, fmt.Errorf("no permission is shipped to %s %s in namespace %q: %s was answered with %d", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Namespace, r.RequestURI, r.Status.Code))
	}
	return errors.Join(errs...)
}

// allPermissionsUsed fails if a permission is shipped that no scenario needs. That can be told only
// when all of them ran.
func (s *setting) allPermissionsUsed() error {
	if err := s.notePermissions(); err != nil {
		return err
	}
	for _, name := range []string{"test.run", "test.skip"} {
		if flag.Lookup(name).Value.String() != "" {
			return nil
		}
	}
	var errs []error
	for file, unused := range s.permissions.unused {
		for _, g := range unused {
			errs = append(errs, fmt.Errorf("deploy/%s gives a permission that no scenario has used: %s", file, g))
		}
	}
	return errors.Join(errs...)
}

// testAllNamespaces is about a controller that watches all namespaces.
func testAllNamespaces(t *testing.T, on *stage.Stage) {
	s := settingOn(t, on, harness.ShippedForEverything, harness.ReadRendered)
	if err := errors.Join(s.Cluster.InstallRolloutCRDs(t.Context()), s.Harness.AwaitKind(t.Context(), "rollouts")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(s, patience, testscript.Params{Files: []string{"first-steps.txtar"}}))
}
