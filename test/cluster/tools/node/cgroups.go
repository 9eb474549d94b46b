package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const cgroups = "/sys/fs/cgroup"

// hierarchies are the folders in which a node needs a control group: one of version 2, or each of
// version 1.
func hierarchies() (folders []string, unified bool, err error) {
	if _, err := os.Stat(cgroups + "/cgroup.controllers"); err == nil {
		return []string{cgroups}, true, nil
	}
	entries, err := os.ReadDir(cgroups)
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		// Links are second names. A version 2 beside version 1 has none of the controllers that a
		// kubelet needs.
		if e.IsDir() && e.Name() != "unified" {
			folders = append(folders, filepath.Join(cgroups, e.Name()))
		}
	}
	return folders, false, nil
}

func makeCgroups(c *config) error {
	folders, unified, err := hierarchies()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		ours := filepath.Join(folder, c.cgroup)
		made := []string{ours}
		for i := range c.nodes {
			made = append(made, filepath.Join(ours, fmt.Sprintf("node-%d", i+1)))
		}
		for _, dir := range made {
			enable := handDown
			if unified {
				enable = enableControllers
			}
			if err := enable(filepath.Dir(dir), dir); err != nil {
				return fmt.Errorf("make the control group %s: %w", dir, err)
			}
		}
	}
	return nil
}

// enableControllers gives a new group of version 2 all controllers that the one above it has.
func enableControllers(above, dir string) error {
	controllers, err := os.ReadFile(above + "/cgroup.controllers")
	if err != nil {
		return err
	}
	enabled, err := os.ReadFile(above + "/cgroup.subtree_control")
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(controllers)) {
		if slices.Contains(strings.Fields(string(enabled)), controller) {
			continue
		}
		if err := os.WriteFile(above+"/cgroup.subtree_control", []byte("+"+controller), 0); err != nil {
			return fmt.Errorf("enable the controller %s: %w", controller, err)
		}
	}
	return os.Mkdir(dir, 0o755)
}

// handDown makes a group of version 1. A new one of cpuset is empty, and no process can enter it.
func handDown(above, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(above, file))
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// sweep waits for the end of the program that uses the cluster, and removes the control groups. The
// kernel keeps those of version 1 for a moment after their last process has ended.
func sweep(name string) error {
	if name == "" {
		return fmt.Errorf("--cgroup is missing")
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // which the program holds open
	const patience = time.Minute
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var left error
		// In all hierarchies: runc makes some where none is needed.
		groups, err := filepath.Glob(filepath.Join(cgroups, "*", name))
		if err != nil {
			return err
		}
		for _, group := range append(groups, filepath.Join(cgroups, name)) {
			if err := removeCgroup(group); err != nil {
				left = err
			}
		}
		if left == nil || time.Since(began) > patience {
			return left
		}
	}
}

// removeCgroup removes a group and those in it. Their files cannot be removed, and go with them.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeCgroup(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := os.Remove(dir); !os.IsNotExist(err) {
		return err
	}
	return nil
}
