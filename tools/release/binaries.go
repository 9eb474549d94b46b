package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

type platform struct{ os, arch string }

// String is how the platform is written in the name of a file.
func (p platform) String() string { return p.os + "-" + p.arch }

// platforms: the controller runs in containers on Linux, and who uses its commands sits elsewhere.
func platforms() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
}

// chosen reads a list of platforms. An empty one stands for all.
func chosen(list string) ([]platform, error) {
	if list == "" {
		return platforms(), nil
	}
	var some []platform
	for text := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(text, "/")
		p := platform{system, arch}
		if !slices.Contains(platforms(), p) {
			return nil, fmt.Errorf("-platforms %q: want some of %v, such as linux/amd64", text, platforms())
		}
		some = append(some, p)
	}
	return some, nil
}

// program is the name of the file to start.
func (p platform) program() string {
	if p.os == "windows" {
		return "reroll.exe"
	}
	return "reroll"
}

// binary is where the program for a platform was built.
func (r *release) binary(p platform) string { return filepath.Join(r.work, "reroll-"+p.String()) }

// binaries builds the program for each platform, packs it with its licence, and lists what is in
// it.
func (r *release) binaries(ctx context.Context) error {
	for _, p := range r.platforms {
		r.say("building for %s", p)
		if err := r.build(ctx, p); err != nil {
			return err
		}
		if err := r.pack(p); err != nil {
			return err
		}
		name := "reroll-" + r.version + "-" + p.String()
		if err := r.listModules(name, r.binary(p)); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) build(ctx context.Context, p platform) error {
	env := []string{"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOFLAGS=", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0"}
	_, err := output(ctx, env, "go", "build", "-trimpath", "-buildvcs=true", "-ldflags", "-s -w -buildid= -X github.com/reroll-dev/reroll/internal/buildinfo.version="+r.version,
		"-o", r.binary(p), "./cmd/reroll")
	return err
}

func (r *release) pack(p platform) error {
	var files []packed
	for from, as := range map[string]string{r.binary(p): p.program(), "LICENSE": "LICENSE", "README.md": "README.md"} {
		data, err := os.ReadFile(from)
		if err != nil {
			return fmt.Errorf("pack %s: %w", p, err)
		}
		mode := int64(0o644)
		if as == p.program() {
			mode = 0o755
		}
		files = append(files, packed{name: as, mode: mode, data: data})
	}
	name := "reroll-" + r.version + "-" + p.String()
	if p.os == "windows" {
		return r.zip(name+".zip", files)
	}
	return r.tarball(name+".tar.gz", files)
}
