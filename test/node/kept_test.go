package node_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// This is make cluster-up NODES=1 REAL=1, and make cluster-down.
func TestAKeptClusterRunsContainersUntilItIsTakenDown(t *testing.T) {
	// The user may keep one of their own.
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	before := machine(t)
	throwaway := filepath.Join(t.TempDir(), "throwaway")
	run := func(kubeconfig, input, program string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env, cmd.Stdin = append(os.Environ(), "KUBECONFIG="+kubeconfig), strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
		}
		return string(out)
	}
	run("", "", "go", "build", "-o", throwaway, "../cluster/cmd/throwaway")
	down := func() string { return run("", "", throwaway, "down") }
	t.Cleanup(func() { _ = exec.Command(throwaway, "down").Run() })

	printed := run("", "", throwaway, "up", "--nodes=1", "--real")
	line := regexp.MustCompile(`(?m)^  export KUBECONFIG=(.+)$`).FindStringSubmatch(printed)
	if line == nil || !strings.Contains(printed, "Its pods run containers") {
		t.Fatalf("it prints:\n%s", printed)
	}
	kubeconfig, dir := line[1], filepath.Dir(line[1])
	run(kubeconfig, oneApp, shared.clients.Kubectl, "apply", "--filename=-")
	run(kubeconfig, "", shared.clients.Kubectl, "rollout", "status", "deployment/app", "--timeout=8m")
	if logs := run(kubeconfig, "", shared.clients.Kubectl, "logs", "deployment/app"); !strings.Contains(logs, "env GREETING=hello\n") {
		t.Errorf("logs:\n%s", logs)
	}
	if len(traces(t, filepath.Base(dir))) == 0 {
		t.Error("no trace of the node is found while it runs")
	}

	if printed := down(); !strings.Contains(printed, "has ended.") {
		t.Errorf("down prints:\n%s", printed)
	}
	if left := traces(t, filepath.Base(dir)); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder %s: %v", dir, err)
	}
	if after := machine(t); after != before {
		t.Errorf("the machine is not as it was:\n%s\nbefore:\n%s", after, before)
	}
}
