package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a first build takes, measured on two cores with both of Go's caches empty.
const (
	firstBuildTakes = "6 minutes"
	firstBuildDisk  = 7 << 30
)

// compile builds one nested module's programs into a folder and says how far it is.
func (b *builder) compile(ctx context.Context, i int, p part, into string) error {
	title := fmt.Sprintf("[%d/%d] %s %s", i+1, len(b.parts), p.name, b.versions[p.name])
	fmt.Fprintf(b.progress, "%s: fetching sources\n", title)
	began := time.Now()
	todo, err := b.stale(ctx, p)
	if err != nil {
		return err
	}

	var mended []string
	if len(p.mends) > 0 {
		folder, err := os.MkdirTemp(b.base, p.name+partialMark)
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(folder) }()
		if mended, err = b.mended(ctx, p, folder); err != nil {
			return err
		}
	}

	args := []string{"build", "-v", "-ldflags", "-s -w " + p.ldflags(b.versions[p.name]), "-o", into + string(filepath.Separator)}
	if len(p.packages) == 1 {
		// The last element of etcd's main package is a version, "v3".
		args[len(args)-1] = filepath.Join(into, p.name)
	}
	cmd := b.goCommand(ctx, p, slices.Concat(args, mended, p.packages)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said := follow(stderr, title, todo, began, b.progress)
	if err := cmd.Wait(); err != nil {
		return goFault(err, said)
	}
	fmt.Fprintf(b.progress, "%s: done in %s\n", title, clock(time.Since(began)))
	return nil
}

const sayEvery = 15 * time.Second

// follow counts the packages that go build names, tells how far it is now and then, and returns
// what was no package.
func follow(stderr io.Reader, title string, todo int, began time.Time, progress io.Writer) string {
	var said strings.Builder
	compiled, last := 0, began
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := lines.Text()
		if strings.ContainsAny(line, " :#\t") {
			said.WriteString(line + "\n")
			continue
		}
		compiled++
		if now := time.Now(); now.Sub(last) >= sayEvery {
			last = now
			fmt.Fprintf(progress, "%s: %d of %d packages, %s\n", title, min(compiled, todo), todo, clock(now.Sub(began)))
		}
	}
	return said.String()
}

// stale counts the packages that are not in Go's build cache. Asking for them also fetches the
// sources.
func (b *builder) stale(ctx context.Context, p part) (int, error) {
	args := append([]string{"list", "-deps", "-f", "{{if .Stale}}x{{end}}"}, p.packages...)
	out, err := b.goSays(ctx, p, args...)
	return bytes.Count(out, []byte("x")), err
}

// goSays is what the go command prints.
func (b *builder) goSays(ctx context.Context, p part, args ...string) ([]byte, error) {
	cmd := b.goCommand(ctx, p, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, goFault(err, stderr.String())
	}
	return out, nil
}

func (b *builder) goCommand(ctx context.Context, p part, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.modules, p.folder)
	// No cgo: no C compiler is needed and the programs are static. No workspace: the pins of the
	// nested module count.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false -mod=readonly")
	cmd.SysProcAttr = dieWithParent()
	return cmd
}

// goFault adds to what the go command said what can be done about it.
func goFault(err error, said string) error {
	const keep = 2000
	var lines []string
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, line)
		}
	}
	said = strings.TrimSpace(strings.Join(lines, ""))
	if len(said) > keep {
		said = "…" + said[len(said)-keep:]
	}
	hint := ""
	switch {
	case errors.Is(err, exec.ErrNotFound):
		hint = "Install Go 1.26 or newer and put it on the PATH."
	case containsAny(said, "no space left on device", "disk quota exceeded"):
		hint = fmt.Sprintf("The disk is full: a first build needs about %d GB. Free some, or point GOCACHE, GOMODCACHE and XDG_CACHE_HOME at a larger disk.", firstBuildDisk>>30)
	case containsAny(said, "dial tcp", "no such host", "i/o timeout", "connection refused", "TLS handshake", "proxyconnect", "module lookup disabled"):
		hint = "The sources come from the Go module proxy, which did not answer. Check the network, or set GOPROXY to one that is reachable (go env GOPROXY shows the present one)."
	case containsAny(said, "checksum mismatch", "SECURITY ERROR"):
		hint = "A source in Go's module cache is not what was pinned. Remove it with: go clean -modcache"
	case containsAny(said, "requires go >="):
		hint = "Install the Go that is asked for, or let go fetch it: GOTOOLCHAIN=auto."
	}
	return fmt.Errorf("%w\n%s\n%s", err, said, hint)
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// enoughDisk refuses a build that would run out of space after some minutes.
func (b *builder) enoughDisk(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		return goFault(err, "")
	}
	for _, dir := range append(strings.Fields(string(out)), b.base) {
		existing := dir
		for existing != filepath.Dir(existing) {
			if _, err := os.Stat(existing); err == nil {
				break
			}
			existing = filepath.Dir(existing)
		}
		free, err := freeDisk(existing)
		if err != nil {
			return fmt.Errorf("see how much disk is free for %s: %w", dir, err)
		}
		// Go's caches may hold most of it already, which cannot be told beforehand: only the
		// hopeless is refused.
		if free < b.disk/4 {
			return fmt.Errorf("only %d MB are free for %s, and a first build needs about %d GB: free some, or point GOCACHE, GOMODCACHE and XDG_CACHE_HOME at a larger disk",
				free>>20, dir, b.disk>>30)
		}
	}
	return nil
}

// lock waits until no other process builds, and says for whom it waits.
func (b *builder) lock(ctx context.Context) error {
	path := filepath.Join(b.base, "build.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the build's lock: %w", err)
	}
	said := false
	err = poll(ctx, nil, func(context.Context) error {
		held, err := tryLock(f)
		if err != nil {
			return permanent{err}
		}
		if held {
			return nil
		}
		if !said {
			said = true
			pid, _ := os.ReadFile(path)
			fmt.Fprintf(b.progress, "Process %s is building; waiting for it.\n", strings.TrimSpace(string(pid)))
		}
		return errors.New("another process builds")
	}, func(error) error { return fmt.Errorf("waiting for another build: %w", context.Cause(ctx)) })
	if err != nil {
		_ = f.Close()
		return err
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	b.locked = f
	return nil
}

func (b *builder) unlock() { _ = b.locked.Close() }

func clock(d time.Duration) string {
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d:%02d min", s/60, s%60)
}
