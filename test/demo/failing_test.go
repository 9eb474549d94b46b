package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// doctored writes the example with changes to it, given as pairs of what is there and what is to
// be, and returns its path.
func doctored(t *testing.T, changes ...string) string {
	t.Helper()
	example, err := os.ReadFile(filepath.Join(root, "examples/first-steps/first-steps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(changes, 2) {
		if !strings.Contains(string(example), pair[0]) {
			t.Fatalf("the example does not hold %q", pair[0])
		}
	}
	path := filepath.Join(t.TempDir(), "doctored.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(changes...).Replace(string(example))), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantFailure(t *testing.T, stderr string, code int, wants ...string) {
	t.Helper()
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range wants {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error does not say %q:\n%s", want, stderr)
		}
	}
	if strings.Contains(stderr, "panic:") {
		t.Errorf("it panics:\n%s", stderr)
	}
}

func TestTheDemoFailsWhenItsExpectationsAreNotMet(t *testing.T) {
	demo := demoProgram(t)
	existing, _, c := others(t)
	optIn := "  annotations:\n    reloader.stakater.com/auto: \"true\"\n"
	for name, test := range map[string]struct {
		changes []string
		wants   []string
	}{
		"the other Deployment moves": {
			[]string{"  name: " + optedOut + "\n", "  name: " + optedOut + "\n" + optIn},
			[]string{optedOut + " has rolled once; expected was not at all: nothing opts it in, so it is not to move"},
		},
		"nothing is taken into care": {
			[]string{optIn, ""},
			[]string{"expected was Reroll to note what the pods of " + optedIn + " were started with", "the end of Reroll's log:\n{"},
		},
		"the opted-in one does not roll": {
			[]string{
				"reloader.stakater.com/auto: \"true\"", "configmap.reloader.stakater.com/reload: other",
				"# The ConfigMap is last", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: other\ndata:\n  a: b\n---\n# The ConfigMap is last",
				"configMapKeyRef: {name: greeting, key: text}", "configMapKeyRef: {name: greeting, key: text}\n        envFrom: [{configMapRef: {name: other, optional: true}}]",
			},
			[]string{"expected was " + optedIn + " to roll once", errDecided.Error(), "the end of Reroll's log:\n{"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, code := playOn(t, c.Kubeconfig(), demo, "--context="+existing, "--example="+doctored(t, test.changes...))
			wantFailure(t, stderr, code, test.wants...)
		})
	}
}

func TestAPlaceThatCannotBeUsedIsTold(t *testing.T) {
	demo := demoProgram(t)
	for name, path := range map[string]string{
		"no such context":    kubeconfig(t),
		"no such kubeconfig": "/nonexistent",
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := playOn(t, path, demo, "--context=nope")
			wantFailure(t, stderr, code, `use the context "nope" of your kubeconfig: context "nope" does not exist`)
		})
	}
}

// kubeconfig writes one that has a context, and returns its path.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\ncontexts: [{name: a, context: {cluster: a}}]\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAClusterThatDoesNotStartNamesItsComponent(t *testing.T) {
	demo := demoProgram(t)
	gocache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(gocache))) // which would be in the other folder too
	t.Setenv("XDG_CACHE_HOME", cacheWith(t, "kube-scheduler", "#!/bin/sh\necho no scheduler today >&2\nexit 3\n"))
	for _, keep := range []string{"--keep=false", "--keep"} {
		t.Run(keep, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			_, stderr, code := play(t, demo, keep, "--simulated")
			wantFailure(t, stderr, code, "kube-scheduler: it ended: exit status 3", "no scheduler today", "the whole log: ")
		})
	}
}

// cacheWith is a cache folder with the built programs, but for one. That a program is not the one
// that was built is told by what the build noted of it, so the note is taken along without what it
// says of that one.
func cacheWith(t *testing.T, program, script string) string {
	t.Helper()
	tools, err := cluster.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Dir(tools.Etcd)
	cache := t.TempDir()
	into := filepath.Join(cache, "reroll", "cluster", filepath.Base(built))
	if err := os.MkdirAll(into, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"} {
		if name == program {
			continue
		}
		if err := os.Symlink(filepath.Join(built, name), filepath.Join(into, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{program: script, "built.json": "{}"} {
		if err := os.WriteFile(filepath.Join(into, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return cache
}

func TestAnInterruptedDemoSaysWhere(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), demoProgram(t), "--simulated")
	cmd.Dir, cmd.Stderr = root, &errs
	told, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The first line comes before the cluster does.
	lines := bufio.NewScanner(told)
	if !lines.Scan() {
		t.Fatalf("it says nothing:\n%s", errs.String())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Log(lines.Text())
	}
	_ = cmd.Wait()
	wantFailure(t, errs.String(), cmd.ProcessState.ExitCode(), "it was interrupted while it waited for a throwaway cluster to be ready")
	if lines := strings.Count(errs.String(), "\n"); lines > 3 {
		t.Errorf("it takes %d lines to say so:\n%s", lines, errs.String())
	}
}

// others is a cluster that somebody has, with a context to name it by.
func others(t *testing.T) (context string, client *kubernetes.Clientset, c *cluster.Cluster) {
	t.Helper()
	c, err := startOthers()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err = kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	return config.CurrentContext, client, c
}

func namespaces(t *testing.T, client *kubernetes.Clientset) int {
	t.Helper()
	list, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Items)
}

func TestTheDemoOnAClusterThatOneHas(t *testing.T) {
	demo := demoProgram(t)
	name, client, c := others(t)
	before := namespaces(t, client)
	stdout, stderr, code := playOn(t, c.Kubeconfig(), demo, "--context="+name)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d; standard error:\n%s\nstandard output:\n%s", code, stderr, stdout)
	}
	for _, want := range []string{"of your context " + name, "the pods of this cluster run no containers", `would read GREETING="good`, "cleaned   namespace reroll-demo-"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
	if lines := storyLines(stdout); lines >= 25 {
		t.Errorf("it has %d lines, want fewer than 25:\n%s", lines, stdout)
	}
	if after := namespaces(t, client); after != before {
		t.Errorf("there are %d namespaces, and there were %d", after, before)
	}
}

// A second edit while the story is being told makes a second rollout, of which nothing is seen yet
// when the first ends.
func TestTheDemoFailsWhenTheOptedInDeploymentRollsTwice(t *testing.T) {
	demo := demoProgram(t)
	name, client, c := others(t)
	edited := make(chan error, 1)
	go func() { edited <- editWhenMarked(t.Context(), client) }()
	stdout, stderr, code := playOn(t, c.Kubeconfig(), demo, "--context="+name)
	if err := <-edited; err != nil {
		t.Fatal(err)
	}
	wantFailure(t, stderr, code, optedIn+" has rolled 2 times; expected was once")
	if strings.Contains(stdout, "rolled once;") {
		t.Errorf("it tells that it has rolled once:\n%s", stdout)
	}
}

// editWhenMarked edits the ConfigMap of the demo as soon as web is marked.
func editWhenMarked(ctx context.Context, client *kubernetes.Clientset) error {
	return harness.Await(ctx, "the mark", func(ctx context.Context) error {
		list, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + optedIn})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 || len(list.Items[0].Spec.Template.Spec.Containers[0].Env) < 2 {
			return errors.New("it is not marked yet")
		}
		cms := client.CoreV1().ConfigMaps(list.Items[0].Namespace)
		cm, err := cms.Get(ctx, greeting, metav1.GetOptions{})
		if err != nil {
			return err
		}
		cm.Data[key] = "good night"
		_, err = cms.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	})
}

func TestAKeptDemoRunsUntilItIsEnded(t *testing.T) {
	demo := demoProgram(t)
	name, client, c := others(t)
	t.Setenv("TMPDIR", t.TempDir())
	// A cluster that is kept too is no obstacle.
	keeper, err := cluster.Keep(cluster.KeptCluster)
	if err != nil {
		t.Fatal(err)
	}
	defer keeper.Close()
	before := namespaces(t, client)
	stdout, stderr, code := playOn(t, c.Kubeconfig(), demo, "--keep", "--context="+name)
	down := func() error {
		_, err := cluster.Down(t.Context(), cluster.KeptDemo)
		return err
	}
	t.Cleanup(func() { _ = down() })
	if code != 0 || stderr != "" || !strings.Contains(stdout, "To end it: make cluster-down") {
		t.Fatalf("exit code %d; standard error:\n%s\nstandard output:\n%s", code, stderr, stdout)
	}
	if _, stderr, code := playOn(t, c.Kubeconfig(), demo, "--keep", "--context="+name); code != 1 || !strings.Contains(stderr, "a demo is up already") {
		t.Errorf("a second one: exit code %d:\n%s", code, stderr)
	}
	_, rest, _ := strings.Cut(stdout, "kubectl -n ")
	namespace, _, _ := strings.Cut(rest, " ")
	if _, err := client.AppsV1().Deployments(namespace).Get(t.Context(), optedIn, metav1.GetOptions{}); err != nil {
		t.Errorf("nothing is left in the namespace that it names: %v", err)
	}
	if err := down(); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s is still there: %v", namespace, err)
	}
	if after := namespaces(t, client); after != before {
		t.Errorf("there are %d namespaces, and there were %d", after, before)
	}
}
