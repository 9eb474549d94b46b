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
	"syscall"
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
	parent, dir := startParent(t)
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
	awaitEnd(t, children, func() []string { return traces(t, dir) })
	if after := machine(t); after != before {
		t.Errorf("the machine is not as it was:\n%s\nbefore:\n%s", after, before)
	}
}

// The broom removes the control groups of a parent that is killed. If it is killed too, the next
// start of a cluster does.
func TestTheNextStartRemovesWhatIsLeftIfTheBroomIsKilledToo(t *testing.T) {
	// Other starts on this machine look elsewhere.
	t.Setenv("TMPDIR", t.TempDir())
	parent, dir := startParent(t)
	children := descendants(t, parent.Process.Pid)
	brooms := 0
	for pid, program := range children {
		if !strings.Contains(program, " broom ") {
			continue
		}
		brooms++
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if brooms != 1 {
		t.Fatalf("there are %d brooms among the processes: %v", brooms, children)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	awaitEnd(t, children, func() []string { return nil })
	if len(traces(t, dir)) == 0 {
		t.Fatalf("no control group %s is left, so the next start has nothing to remove", dir)
	}

	awaitEnd(t, nil, func() []string {
		// A start begins with it. The kernel may need a moment until a group is free.
		_, remove, err := cluster.Folder()
		if err != nil {
			t.Fatal(err)
		}
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		folders, err := filepath.Glob(filepath.Join(os.TempDir(), "*", dir))
		if err != nil {
			t.Fatal(err)
		}
		return append(traces(t, dir), folders...)
	})
}

// startParent starts a program that runs a node with a container, and returns the name of the
// folder of its cluster.
func startParent(t *testing.T) (parent *exec.Cmd, dir string) {
	t.Helper()
	parent = exec.CommandContext(t.Context(), os.Args[0])
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
	dir = lines.Text()
	if !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the parent reports: %s %s", dir, lines.Text())
	}
	return parent, dir
}

// awaitEnd returns when these processes have ended, and nothing else is left.
func awaitEnd(t *testing.T, children map[int]string, others func() []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := harness.Await(ctx, "the end of all that the parent has started", func(context.Context) error {
		var left []error
		for pid, program := range children {
			if alive(pid) {
				left = append(left, fmt.Errorf("process %d: %s", pid, program))
			}
		}
		for _, other := range others() {
			left = append(left, errors.New(other))
		}
		return errors.Join(left...)
	}); err != nil {
		t.Error(err)
	}
}

// descendants are the processes below one, in whatever namespaces, with their command lines. The
// broom is among them: it outlives the parent, and ends after the control groups are gone.
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
