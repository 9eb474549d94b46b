// Package stamp puts checksums on pod templates in the ways that the docs tell, with the real Helm,
// kubectl and kustomize.
package stamp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

const (
	root = "../.."
	// annotation is where all of them put it.
	annotation = "checksum/config"
)

// Each is built once for all tests.
var (
	clients = sync.OnceValues(func() (cluster.Clients, error) { return cluster.BuildClients(context.Background(), os.Stderr) })
	reroll  func() (string, error)
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reroll-stamp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	reroll = sync.OnceValues(func() (string, error) { return harness.ForTests(context.Background(), dir) })
	return m.Run()
}

// user has a folder with copies of what is in this repository, and nobody's settings.
type user struct {
	*testing.T
	cluster.Clients
	dir string
	env []string
}

func newUser(t *testing.T, folders ...string) *user {
	t.Helper()
	t.Parallel()
	programs, err := clients()
	if err != nil {
		t.Fatal(err)
	}
	u := &user{T: t, Clients: programs, dir: t.TempDir()}
	home := t.TempDir()
	u.env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home, "KUBECONFIG=" + os.DevNull, harness.RaceDetector, "PATH=" + os.Getenv("PATH")}
	for _, folder := range folders {
		if err := os.CopyFS(filepath.Join(u.dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

func (u *user) run(program string, args ...string) string {
	u.Helper()
	out, err := u.try(program, args...)
	if err != nil {
		u.Fatal(err)
	}
	return out
}

func (u *user) try(program string, args ...string) (string, error) {
	cmd := exec.CommandContext(u.Context(), program, args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(program), strings.Join(args, " "), err, out, exit.Stderr)
	}
	return string(out), err
}

func (u *user) write(file, text string) {
	u.Helper()
	path := filepath.Join(u.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		u.Fatal(err)
	}
}

// checksum is that of the one Deployment among manifests, and empty for none.
func (u *user) checksum(manifests string) string {
	u.Helper()
	var found []appsv1.Deployment
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(doc), &d); err != nil {
			u.Fatalf("%v in:\n%s", err, doc)
		}
		if d.Kind == "Deployment" {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		u.Fatalf("%d Deployments in:\n%s", len(found), manifests)
	}
	return found[0].Spec.Template.Annotations[annotation]
}

// bothHelms calls a test once for each Helm, by its path.
func bothHelms(t *testing.T, test func(t *testing.T, helm func(cluster.Clients) string)) {
	t.Helper()
	for name, helm := range map[string]func(cluster.Clients) string{
		"Helm 3": func(c cluster.Clients) string { return c.Helm3 },
		"Helm 4": func(c cluster.Clients) string { return c.Helm4 },
	} {
		t.Run(name, func(t *testing.T) { test(t, helm) })
	}
}
