package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/test/harness"
)

// asThrowaway makes the test binary behave as the command, which starts itself again in the
// background.
const asThrowaway = "REROLL_TEST_IS_THROWAWAY"

func TestMain(m *testing.M) {
	if os.Getenv(asThrowaway) != "" {
		main()
	}
	os.Exit(m.Run())
}

func throwaway(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), self, args...)
	cmd.Env = append(os.Environ(), asThrowaway+"=1")
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		t.Fatal(err)
	}
	if ok {
		code = exit.ExitCode()
	}
	return string(out), code
}

func want(t *testing.T, wantCode int, words string, output string, code int) {
	t.Helper()
	if code != wantCode || !strings.Contains(output, words) {
		t.Fatalf("exit code %d, want %d and to be told %q:\n%s", code, wantCode, words, output)
	}
}

// up starts a cluster that is ended with the test, and returns a client that got its address from
// what was printed.
func up(t *testing.T) (*kubernetes.Clientset, string) {
	t.Helper()
	output, code := throwaway(t, "up", "--nodes=1")
	want(t, 0, "A Kubernetes cluster is up, after ", output, code)
	t.Log(output)
	line := regexp.MustCompile(`(?m)^  export KUBECONFIG=(.+)$`).FindStringSubmatch(output)
	if line == nil {
		t.Fatalf("it prints no line to paste:\n%s", output)
	}
	config, err := clientcmd.BuildConfigFromFlags("", line[1])
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client, filepath.Dir(line[1])
}

// docs/tutorials/without-a-cluster.md starts one.
func TestAClusterIsUpUntilItIsTakenDown(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Cleanup(func() { throwaway(t, "down") })
	output, code := throwaway(t, "down")
	want(t, 0, "No cluster is up.", output, code)
	client, _ := up(t)
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 {
		t.Errorf("one node was asked for: %v", err)
	}
	output, code = throwaway(t, "up")
	want(t, 1, "a cluster is up already", output, code)
	output, code = throwaway(t, "down")
	want(t, 0, "The cluster of process ", output, code)
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Error("its API server still answers")
	}
	output, code = throwaway(t, "down")
	want(t, 0, "No cluster is up.", output, code)
}

func TestAClusterWhoseComponentDiesIsNotCalledUp(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Cleanup(func() { throwaway(t, "down") })
	_, dir := up(t)
	if err := syscall.Kill(etcdOf(t, dir), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// A bound for what would hang: the cluster is taken down by a test that ends, not by one that
	// is cut off.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	ended := filepath.Join(filepath.Dir(dir), "kept-cluster.ended")
	if err := harness.Await(ctx, "the keeper's end", func(context.Context) error {
		_, err := os.Stat(ended)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	// The word is left before the lock is: who holds it is in its last moments.
	var output string
	var code int
	if err := harness.Await(ctx, "word of it", func(context.Context) error {
		if output, code = throwaway(t, "down"); strings.Contains(output, "the last cluster ended by itself: etcd: it ended: signal: killed") {
			return nil
		}
		return fmt.Errorf("exit code %d: %s", code, output)
	}); err != nil {
		t.Fatal(err)
	}
	log := regexp.MustCompile(`the whole log: (\S+)`).FindStringSubmatch(output)
	if log == nil {
		t.Fatalf("no log is named:\n%s", output)
	}
	if _, err := os.Stat(log[1]); err != nil {
		t.Errorf("the log that is named is not there: %v", err)
	}
	up(t)
}

// etcdOf finds the etcd that works in a folder.
func etcdOf(t *testing.T, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if cwd, err := os.Readlink(link); err != nil || cwd != dir {
			continue
		}
		name, err := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
		if err == nil && string(name) == "etcd\n" {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/cwd", &pid); err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no etcd works in " + dir)
	return 0
}

func TestMistakesAreToldInTheWordsOfMake(t *testing.T) {
	for arg, told := range map[string]string{
		"--port=abc":   "PORT=abc is no port: give a number from 1 to 65535",
		"--port=99999": "PORT=99999 is no port",
		"--port=-1":    "PORT=-1 is no port",
		"--nodes=many": "NODES=many is no number of nodes",
		"--nodes=-1":   "NODES=-1 is no number of nodes",
	} {
		output, code := throwaway(t, "up", arg)
		want(t, 2, told, output, code)
	}
	output, code := throwaway(t, "up", "--nodes=0", "--real")
	want(t, 2, "NODES=0 and REAL=1 exclude each other", output, code)
}
