// Command release makes everything that a release consists of, and publishes nothing:
//
//	go run ./tools/release -version 0.1.0 -repository localhost/reroll -o bin/release
//
// The same commit, version and repository give the same bytes, wherever and whenever they are made:
// times are those of the commit, paths are left out of the binaries, and what is packed is packed
// here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

type options struct {
	version    string
	repository string
	out        string
	platforms  []platform
}

// release is one in the making.
type release struct {
	options
	// part is where it is made, until it is whole.
	part string
	// date is that of the commit.
	date time.Time
	// work holds what is not published.
	work string
	log  io.Writer
}

func main() {
	o, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(2)
	}
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// versionSyntax is that of semver.org, without the v in front that the tag has.
var versionSyntax = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.StringVar(&o.version, "version", "", "`version` of the release, such as 1.2.3")
	fs.StringVar(&o.repository, "repository", "", "the image's `name` without a tag, such as localhost/reroll")
	only := fs.String("platforms", "", "make it for these alone, such as linux/amd64,linux/arm64; without it, for all")
	fs.StringVar(&o.out, "o", "bin/release", "`directory` to write; an earlier release in it goes")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q: everything is given by flags, see -h", fs.Arg(0))
	case !versionSyntax.MatchString(o.version):
		return o, fmt.Errorf("-version %q: want three numbers, such as 1.2.3 or 1.2.3-rc.1, and no v in front", o.version)
	case o.repository == "":
		return o, errors.New("-repository is missing, see -h")
	}
	var err error
	o.platforms, err = chosen(*only)
	return o, err
}

func run(ctx context.Context, o options, log io.Writer) error {
	r := &release{options: o, log: log}
	var err error
	if r.date, err = commitDate(ctx); err != nil {
		return err
	}
	if err := ours(o.out); err != nil {
		return err
	}
	// Half a release is never where a whole one is looked for.
	r.part = filepath.Clean(o.out) + ".part"
	if err := os.RemoveAll(r.part); err != nil {
		return fmt.Errorf("-o %s: %w", o.out, err)
	}
	if err := os.MkdirAll(r.part, 0o755); err != nil { //nolint:gosec // to be read by anybody
		return fmt.Errorf("-o %s: %w", o.out, err)
	}
	if r.work, err = os.MkdirTemp("", "reroll-release-"); err != nil {
		return fmt.Errorf("make a folder to work in: %w", err)
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	for _, step := range []func(context.Context) error{r.unchanged, r.binaries, r.images, r.charts, r.manifests, r.checksums} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(o.out); err != nil {
		return fmt.Errorf("-o %s: %w", o.out, err)
	}
	return os.Rename(r.part, o.out)
}

// marker tells a folder of ours from one that is dear to somebody.
const marker = "checksums.txt"

// ours refuses a folder that holds something else than an earlier release.
func ours(dir string) error {
	old, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("-o %s: %w", dir, err)
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); len(old) > 0 && err != nil {
		return fmt.Errorf("-o %s: it holds something else than a release; name an empty folder, or one that does not exist", dir)
	}
	return nil
}

// unchanged says what would keep others from making the same.
func (r *release) unchanged(ctx context.Context) error {
	text, err := output(ctx, nil, "git", "status", "--porcelain")
	if err == nil && text != "" {
		r.say("the working tree has changes that are not committed: the binaries say so, and nobody else can make them")
	}
	return err
}

func commitDate(ctx context.Context) (time.Time, error) {
	text, err := output(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, fmt.Errorf("a release is made from a git repository: %w", err)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the date of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// output runs a program, adds to its environment, and returns what it prints.
func output(ctx context.Context, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), nil
}

// path is that of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.part, name) }

func (r *release) say(format string, args ...any) { fmt.Fprintf(r.log, format+"\n", args...) }
