package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatIsMissingForRealNodesIsNamedWithItsRemedy(t *testing.T) {
	groups := func(t *testing.T, files ...string) string {
		t.Helper()
		dir := t.TempDir()
		for _, name := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("cpuset cpu memory pids\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	whole := func(t *testing.T) machine {
		t.Helper()
		return machine{
			find:       func(program string) (string, error) { return "/usr/bin/" + program, nil },
			namespaces: func() error { return nil },
			cgroups:    groups(t, "cgroup.controllers"),
		}
	}
	for name, c := range map[string]struct {
		lacks func(*testing.T, *machine)
		says  []string
	}{
		"a machine with version 2 of control groups can": {},
		"so can one with version 1": {
			lacks: func(t *testing.T, m *machine) {
				m.cgroups = t.TempDir()
				for _, controller := range []string{"cpu", "cpuset", "memory", "pids"} {
					if err := os.Mkdir(filepath.Join(m.cgroups, controller), 0o755); err != nil {
						t.Fatal(err)
					}
				}
			},
		},
		"programs are named with their packages, each package once": {
			lacks: func(_ *testing.T, m *machine) {
				m.find = func(string) (string, error) { return "", errors.New("not found") }
			},
			says: []string{"the program containerd is not on the PATH", "the program runc is", "apt-get install containerd runc iproute2"},
		},
		"who is not root is told to be": {
			lacks: func(_ *testing.T, m *machine) { m.user = 1000 },
			says:  []string{"root is needed: run this with sudo"},
		},
		"a container without rights": {
			lacks: func(_ *testing.T, m *machine) {
				m.namespaces = func() error { return errors.New("operation not permitted") }
			},
			says: []string{"namespaces of its own (operation not permitted)", "--privileged"},
		},
		"controllers that are missing are named": {
			lacks: func(t *testing.T, m *machine) { m.cgroups = groups(t, "cpu", "cpuset") },
			says:  []string{"has no control group for memory, pids"},
		},
		"control groups that cannot be made": {
			lacks: func(_ *testing.T, m *machine) { m.cgroups = "/proc" },
			says:  []string{"control groups cannot be made"},
		},
		"another Kubernetes has no kubelet here": {
			lacks: func(_ *testing.T, m *machine) { m.minor = "1.25" },
			says:  []string{"THROWAWAY_KUBERNETES=1.25", "unset it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := whole(t)
			if c.lacks != nil {
				c.lacks(t, &m)
			}
			err := m.missing()
			if (err == nil) != (len(c.says) == 0) {
				t.Fatalf("missing: %v", err)
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("the error does not say %q: %v", words, err)
				}
			}
		})
	}
}
