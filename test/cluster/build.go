package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/test/checkout"
)

// Tools are the paths of the built programs.
type Tools struct {
	Etcd, APIServer, ControllerManager, Scheduler, Kwok string

	// node is the folder with what a real node is made of.
	node string
}

// part is one nested module and what is built from it.
type part struct {
	name     string
	module   string // the module whose version names the part
	folder   string // below tools/, holds the go.mod that pins it
	packages []string
	// ldflags stamps the version: a kube-apiserver without one reports v0.0.0, and clients that
	// look at it misbehave.
	ldflags func(version string) string
	// mends are what is changed in the module before it is built.
	mends []mend
}

// set is what is built together, into one folder of the cache.
type set struct {
	// what it is, in what is said while it is built.
	what string
	// main is the part whose version names the folder.
	main  string
	parts []part
	// takes and disk are what a first build needs, with both of Go's caches empty.
	takes string
	disk  uint64
}

// Build returns the programs, and builds them first if the user's cache folder does not hold them
// yet. A build that is cut off leaves nothing that a later one takes for whole, and of two at once
// one waits for the other.
func Build(ctx context.Context, progress io.Writer) (Tools, error) {
	s, err := kubernetesSet()
	if err != nil {
		return Tools{}, err
	}
	dir, err := buildSet(ctx, s, progress)
	if err != nil {
		return Tools{}, err
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	return Tools{
		Etcd: path("etcd"), APIServer: path("kube-apiserver"), ControllerManager: path("kube-controller-manager"),
		Scheduler: path("kube-scheduler"), Kwok: path("kwok"),
	}, nil
}

// buildSet returns the folder of the programs.
func buildSet(ctx context.Context, s set, progress io.Writer) (string, error) {
	if err := Supported(); err != nil {
		return "", err
	}
	if progress == nil {
		progress = io.Discard
	}
	b, err := newBuilder(s, progress)
	if err != nil {
		return "", err
	}
	if err := b.ensure(ctx); err != nil {
		return "", fmt.Errorf("build %s: %w", s.what, err)
	}
	return b.dir, b.built()
}

// ensure builds unless a whole build is there.
func (b *builder) ensure(ctx context.Context) error {
	if b.built() == nil {
		return nil
	}
	if err := b.lock(ctx); err != nil {
		return err
	}
	defer b.unlock()
	err := b.built() // by the one we may have waited for
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(b.progress, "The cached build cannot be used: %v. Building it again.\n", err)
		if err := os.RemoveAll(b.dir); err != nil {
			return fmt.Errorf("remove the damaged build: %w", err)
		}
	}
	return b.build(ctx)
}

type builder struct {
	set
	progress io.Writer
	modules  string            // the folder of the nested modules
	base     string            // the folder of all builds
	dir      string            // the folder of this one
	versions map[string]string // by part
	locked   *os.File
}

func newBuilder(s set, progress io.Writer) (*builder, error) {
	modules, err := modulesFolder()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("no folder for a cache: %w: set HOME or XDG_CACHE_HOME", err)
	}
	b := &builder{
		set:      s,
		progress: progress,
		modules:  modules,
		base:     filepath.Join(cache, "reroll", "cluster"),
		versions: map[string]string{},
	}
	if err := os.MkdirAll(b.base, 0o755); err != nil { //nolint:gosec // programs, as readable as any in a cache
		return nil, fmt.Errorf("make the cache folder: %w", err)
	}
	key, err := b.key()
	if err != nil {
		return nil, err
	}
	b.dir = filepath.Join(b.base, key)
	return b, nil
}

// modulesFolder has the nested modules that pin what is built.
func modulesFolder() (string, error) { return checkout.Path("test", "cluster", "tools") }

// key names a build by everything that decides what comes out: the pinned versions, programs of
// ours among them, Go, and the platform.
func (b *builder) key() (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, p := range b.parts {
		names := []string{"go.mod", "go.sum"}
		own, err := filepath.Glob(filepath.Join(b.modules, p.folder, "*.go"))
		if err != nil {
			return "", err
		}
		for _, path := range own {
			if !strings.HasSuffix(path, "_test.go") {
				names = append(names, filepath.Base(path))
			}
		}
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(b.modules, p.folder, name))
			if err != nil {
				return "", fmt.Errorf("read what pins %s: %w", p.name, err)
			}
			fmt.Fprintf(sum, "%s/%s %d\n%s", p.folder, name, len(content), content)
			if name == "go.mod" {
				b.versions[p.name] = pinnedVersion(string(content), p.module)
			}
		}
		if b.versions[p.name] == "" {
			return "", fmt.Errorf("%s/go.mod does not pin %s", p.folder, p.module)
		}
		fmt.Fprintln(sum, p.packages, p.ldflags(b.versions[p.name]))
		if len(p.mends) > 0 {
			fmt.Fprintln(sum, p.mends)
		}
	}
	return fmt.Sprintf("%s-%s-%x", b.main, b.versions[b.main], sum.Sum(nil)[:6]), nil
}

func pinnedVersion(gomod, module string) string {
	for line := range strings.Lines(gomod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1]
		}
	}
	return ""
}

// built is nil if a whole build is there, and os.ErrNotExist if there is none.
func (b *builder) built() error {
	m, err := readManifest(b.dir)
	if err != nil {
		return err
	}
	return m.check(b.dir)
}

const partialMark = ".partial-"

// build makes everything in a folder beside the final one and renames it when it is whole.
func (b *builder) build(ctx context.Context) error {
	leftovers, _ := filepath.Glob(filepath.Join(b.base, "*"+partialMark+"*"))
	for _, l := range leftovers {
		_ = os.RemoveAll(l)
	}
	if err := b.enoughDisk(ctx); err != nil {
		return err
	}
	b.announce()
	began := time.Now()
	partial, err := os.MkdirTemp(b.base, filepath.Base(b.dir)+partialMark)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(partial) }()
	if err := os.Chmod(partial, 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	for i, p := range b.parts {
		if err := b.compile(ctx, i, p, partial); err != nil {
			return fmt.Errorf("%s %s: %w", p.name, b.versions[p.name], err)
		}
	}
	m, err := newManifest(partial)
	if err != nil {
		return err
	}
	if err := m.write(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, b.dir); err != nil {
		return err
	}
	fmt.Fprintf(b.progress, "Built in %s: %d MB in %s\n", clock(time.Since(began)), m.total()>>20, b.dir)
	return nil
}

func (b *builder) announce() {
	var names []string
	for _, p := range b.parts {
		names = append(names, p.name+" "+b.versions[p.name])
	}
	fmt.Fprintf(b.progress, "Building %s from source, once for these versions:\n  %s\n", b.what, strings.Join(names, ", "))
	fmt.Fprintf(b.progress, "It takes about %s on two cores when Go's caches are empty, and about %d GB of disk,\n"+
		"nearly all of it in Go's own caches (go clean -cache -modcache gives that back).\n", b.takes, b.disk>>30)
}
