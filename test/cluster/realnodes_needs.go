package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// controlGroups is where they are mounted.
const controlGroups = "/sys/fs/cgroup"

// machine is what decides whether real nodes can run.
type machine struct {
	user       int
	find       func(program string) (path string, err error)
	namespaces func() error // nil if a process can be started in its own
	cgroups    string       // where the control groups are mounted
	minor      string       // of another Kubernetes than the newest
}

// RealNodesSupported reports what is missing for real nodes, all of it and how to get it.
func RealNodesSupported() error {
	if err := Supported(); err != nil {
		return err
	}
	return machine{
		user: os.Geteuid(), find: exec.LookPath, namespaces: tryNamespaces,
		cgroups: controlGroups, minor: os.Getenv(minorVariable),
	}.missing()
}

func (m machine) missing() error {
	var missing []string
	if m.minor != "" {
		missing = append(missing, fmt.Sprintf("%s=%s asks for a Kubernetes whose kubelet is not built here: unset it", minorVariable, m.minor))
	}
	var packages []string
	for _, needed := range []struct{ program, debian string }{
		{"containerd", "containerd"}, {"containerd-shim-runc-v2", "containerd"}, {"ctr", "containerd"},
		{"runc", "runc"}, {"ip", "iproute2"},
	} {
		if _, err := m.find(needed.program); err != nil {
			missing = append(missing, "the program "+needed.program+" is not on the PATH")
			packages = append(packages, needed.debian)
		}
	}
	if packages = slices.Compact(packages); len(packages) > 0 {
		missing = append(missing, "to install what is missing on Debian: apt-get install "+strings.Join(packages, " "))
	}
	if m.user != 0 {
		missing = append(missing, "root is needed: run this with sudo, or in a virtual machine where you are root")
	} else {
		missing = append(missing, m.missingOfKernel()...)
	}
	if len(missing) == 0 {
		return nil
	}
	return errors.New("real nodes cannot run here:\n  " + strings.Join(missing, "\n  "))
}

// missingOfKernel is what only root can find out.
func (m machine) missingOfKernel() []string {
	var missing []string
	if err := m.namespaces(); err != nil {
		missing = append(missing, fmt.Sprintf("a process cannot get namespaces of its own (%v): use a virtual machine, or a container with --privileged", err))
	}
	has, err := m.controllers()
	if err != nil {
		return append(missing, fmt.Sprintf("the control groups cannot be read (%v): mount them on %s", err, m.cgroups))
	}
	var lacking []string
	for _, controller := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(has, controller) {
			lacking = append(lacking, controller)
		}
	}
	if len(lacking) > 0 {
		missing = append(missing, fmt.Sprintf("%s has no control group for %s: enable it in the kernel, or mount it", m.cgroups, strings.Join(lacking, ", ")))
	}
	if err := m.tryCgroup(); err != nil {
		missing = append(missing, fmt.Sprintf("control groups cannot be made (%v): use a virtual machine, or a container with --privileged", err))
	}
	return missing
}

// controllers are those of version 2, or the folders of version 1.
func (m machine) controllers() ([]string, error) {
	text, err := os.ReadFile(filepath.Join(m.cgroups, "cgroup.controllers"))
	if err == nil {
		return strings.Fields(string(text)), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries, err := os.ReadDir(m.cgroups)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (m machine) tryCgroup() error {
	above := filepath.Join(m.cgroups, "memory")
	if _, err := os.Stat(above); err != nil {
		above = m.cgroups
	}
	dir, err := os.MkdirTemp(above, "reroll-try-")
	if err != nil {
		return err
	}
	return os.Remove(dir)
}

// tryNamespaces starts a program in the namespaces of a node.
func tryNamespaces() error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = asNode()
	return cmd.Run()
}
