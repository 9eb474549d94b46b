// Package docs tries what the pages for users show: every block of YAML is applied and every
// command is run, on a real API server, in the order of the page. How a block is tried that is not
// a manifest or a command by itself is said behind the language of its fence, where no reader of
// the rendered page sees it:
//
//	yaml values        for the chart, which is installed with them
//	yaml merge=FILE    a part of the object of the same kind in that file
//	yaml rules         the rules of a Role
//	  kinds=NAME       the kinds of argo-cd, argo-rollouts or monitoring are installed before
//	sh, console        commands; of a console, what they say is compared
//	  after=FILE       a script of testdata that is run before
//	  in=FOLDER        the folder below the home that they are run in, which is otherwise a clone of the repository
//	  controller       the pods of the Deployment that the page has installed run the controller
//	  then=FILE        a script that is run when it is ready
//	  until=TEXT       it goes on until somebody presses Ctrl-C, which is done when it has said that
//
// What is tried elsewhere stands in testdata/elsewhere.txt, with the test. What is not tried at all
// stands in testdata/exempt.txt, with the reason.
package docs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// patience bounds what would hang, and nothing else.
const patience = 10 * time.Minute

// blocks returns the blocks of all pages, and the lists of those that are not tried here.
func blocks(t *testing.T) ([]*block, lists) {
	t.Helper()
	all, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	off, err := readLists()
	if err != nil {
		t.Fatal(err)
	}
	var every []*block
	for _, page := range all {
		found, err := read(page)
		if err != nil {
			t.Fatal(err)
		}
		every = append(every, found...)
	}
	return every, off
}

// This needs no cluster.
func TestTheListsHold(t *testing.T) {
	every, off := blocks(t)
	if err := off.wrong(every); err != nil {
		t.Error(err)
	}
	for _, b := range every {
		for _, word := range []string{"after", "then"} {
			if script := b.words[word]; script != "" {
				if _, err := os.Stat(filepath.Join("testdata", script)); err != nil {
					t.Errorf("%s: %v", b, err)
				}
			}
		}
	}
}

func TestEveryBlockIsTried(t *testing.T) {
	every, off := blocks(t)
	byPage := map[string][]*block{}
	for _, b := range every {
		if off.here(b) {
			byPage[b.page] = append(byPage[b.page], b)
		}
	}
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	on := &stage.Pool{Binary: sync.OnceValues(func() (string, error) { return harness.ForTests(t.Context(), folder) })}
	t.Cleanup(func() {
		if err := on.Stop(); err != nil {
			t.Error(err)
		}
	})
	// Go finds its caches by the home, and an empty one would have everything built anew.
	for _, cache := range []string{"GOCACHE", "GOMODCACHE"} {
		folder, err := exec.CommandContext(t.Context(), "go", "env", cache).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(cache, strings.TrimSpace(string(folder)))
	}
	for _, page := range slices.Sorted(maps.Keys(byPage)) {
		blocks := byPage[page]
		t.Run(strings.ReplaceAll(page, "/", "_"), func(t *testing.T) {
			t.Parallel()
			r := newReader(t, clients, on, slices.ContainsFunc(blocks, (*block).builds))
			for _, b := range blocks {
				r.try(b)
			}
		})
	}
	t.Logf("%d blocks: %d are tried elsewhere, %d are exempt", len(every), len(off.elsewhere), len(off.exempt))
}

// reader is somebody who follows a page, in a shell, in a clone of the repository.
type reader struct {
	*testing.T
	ctx    context.Context
	on     *stage.Stage
	home   string // has the programs in bin
	clone  string
	folder string // that it is in
	binary string
	own    *harness.Pods
}

func newReader(t *testing.T, clients cluster.Clients, on *stage.Pool, builds bool) *reader {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	r := &reader{T: t, ctx: ctx, on: on.OfTest(t), home: t.TempDir(), clone: t.TempDir()}
	r.folder = r.clone
	var err error
	r.binary, err = on.Binary()
	r.must(err)
	// What somebody does to their context is done to a copy.
	kubeconfig, err := os.ReadFile(r.on.Cluster.Kubeconfig())
	r.must(err)
	r.must(os.WriteFile(filepath.Join(r.home, "kubeconfig"), kubeconfig, 0o600))
	r.programs(clients)
	r.copyRepository(builds)
	r.run("mkdir -p bin && ln -s \"$HOME/.local/bin/helm\" bin/helm")
	return r
}

func (r *reader) programs(clients cluster.Clients) {
	r.Helper()
	folder := filepath.Join(r.home, ".local", "bin")
	r.must(os.MkdirAll(folder, 0o700))
	for name, program := range map[string]string{"kubectl": clients.Kubectl, "helm": clients.Helm4, "reroll": r.binary} {
		r.must(os.Symlink(program, filepath.Join(folder, name)))
	}
}

// copyRepository takes what a commit would hold, so that no command of a page writes where the
// tests stand. It takes the code, which is most of the files, only if the page builds it.
func (r *reader) copyRepository(code bool) {
	r.Helper()
	files := []string{":/"}
	if !code {
		files = append(files, ":!*.go", ":!/internal", ":!/bench", ":!/tools", ":!/test/cluster", ":!/test/scenarios")
	}
	cmd := exec.CommandContext(r.ctx, "bash", append([]string{"-euo", "pipefail", "-c", `git ls-files -coz --exclude-standard -- "$@" | tar --create --null --files-from=- | tar --extract --directory="$0"`, r.clone}, files...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.Fatalf("copy the repository: %v\n%s", err, out)
	}
}

func (r *reader) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}
