package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

const asParent = "REROLL_TEST_STARTS_NODES_AND_IS_KILLED"

// startAndHang is the program that a test kills: it starts a node with a container, and prints its
// folder.
func startAndHang() {
	if err := func() error {
		ctx := context.Background()
		c, err := cluster.Start(ctx, cluster.Options{RealNodes: 1})
		if err != nil {
			return err
		}
		h, err := harness.New(c)
		if err != nil {
			return err
		}
		n, err := h.EmptyNamespace(ctx, "killed")
		if err != nil {
			return err
		}
		if err := n.Apply(ctx, oneApp); err != nil {
			return err
		}
		fmt.Println(filepath.Base(c.Dir()))
		return n.AwaitReady(ctx, deployment("app"))
	}(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// traces is what a node could leave on a machine.
func traces(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"/sys/fs/cgroup/*" + dir, "/sys/fs/cgroup/*/*" + dir} {
		groups, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, groups...)
	}
	return found
}

// machine is what nodes have no business to change.
func machine(t *testing.T) string {
	t.Helper()
	var all []string
	for _, path := range []string{"/proc/self/mountinfo", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops", "/proc/sys/net/ipv4/ip_forward"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, path+"\n"+string(text))
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		all = append(all, i.Name)
	}
	return strings.Join(all, "\n")
}

func TestNothingIsLeftOfANodeWhoseParentIsKilled(t *testing.T) {
	before := machine(t)
	parent := exec.CommandContext(t.Context(), os.Args[0])
	parent.Env = append(os.Environ(), asParent+"=1")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	dir := lines.Text()
	for lines.Scan() && lines.Text() != "ready" {
		t.Fatalf("the parent says: %s %s", dir, lines.Text())
	}
	children := descendants(t, parent.Process.Pid)
	programs := strings.Join(slices.Sorted(maps.Values(children)), " ")
	for _, wanted := range []string{"kubelet", "containerd", "containerd-shim", "kube-apiserver", "/reroll"} {
		if !strings.Contains(programs, wanted) {
			t.Errorf("no %s is among the processes: %s", wanted, programs)
		}
	}
	if len(traces(t, dir)) == 0 {
		t.Errorf("there are no control groups of the name %s", dir)
	}
	if during := machine(t); during != before {
		t.Errorf("the nodes have changed the machine:\n%s\nbefore:\n%s", during, before)
	}

	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := harness.Await(ctx, "the end of all that the parent has started", func(context.Context) error {
		var left []error
		for pid, program := range children {
			if alive(pid) {
				left = append(left, fmt.Errorf("process %d: %s", pid, program))
			}
		}
		for _, group := range traces(t, dir) {
			left = append(left, errors.New(group))
		}
		return errors.Join(left...)
	}); err != nil {
		t.Error(err)
	}
	if after := machine(t); after != before {
		t.Errorf("the machine is not as it was:\n%s\nbefore:\n%s", after, before)
	}
}

// descendants are the processes below one, in whatever namespaces, with their command lines. The
// broom is not among them: it outlives the parent, and ends after the control groups are gone.
func descendants(t *testing.T, root int) map[int]string {
	t.Helper()
	parents := map[int]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	found := map[int]string{}
	for pid := range parents {
		for up := pid; up > 1; up = parents[up] {
			if up != root || pid == root {
				continue
			}
			line, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
		}
	}
	return found
}

// alive is false for a process that has ended, also when nobody has waited for it yet.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestAClusterThatIsStoppedLeavesNothing(t *testing.T) {
	before := machine(t)
	c, err := cluster.Start(t.Context(), cluster.Options{RealNodes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfig(c.Config()); err != nil {
		t.Fatal(err)
	}
	dir := c.Dir()
	if err := errors.Join(c.Check(), c.Stop()); err != nil {
		t.Fatal(err)
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
