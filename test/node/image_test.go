package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

const (
	rerollImage = "localhost/reroll"
	// nextVersion is what the image to which Reroll is upgraded reports as its version.
	nextVersion = "99.1.0"
)

// rerollTags are those of the image of Reroll on the nodes. An upgrade is one from the first to the
// second.
func rerollTags() []string { return []string{"first", "second"} }

// buildReroll returns the controller as a program, and archives of its image.
func buildReroll(ctx context.Context, folder string) (binary string, images []string, err error) {
	binary = filepath.Join(folder, "reroll")
	packer := filepath.Join(folder, "image")
	next := filepath.Join(folder, "reroll-next")
	for path, what := range map[string]string{binary: "./cmd/reroll", next: "./cmd/reroll", packer: "./tools/image"} {
		flags := "-s -w"
		if path == next {
			flags += " -X github.com/reroll-dev/reroll/internal/buildinfo.version=" + nextVersion
		}
		build := exec.CommandContext(ctx, "go", "build", "-ldflags="+flags, "-o", path, what)
		build.Dir = filepath.Join("..", "..")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("go build %s: %w\n%s", what, err, out)
		}
	}
	for tag, binary := range map[string]string{rerollTags()[0]: binary, rerollTags()[1]: next} {
		archive := filepath.Join(folder, tag+".tar")
		pack := exec.CommandContext(ctx, packer, "-binary", binary, "-arch", runtime.GOARCH, "-tag", rerollImage+":"+tag, "-o", archive)
		if out, err := pack.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("%s: %w\n%s", strings.Join(pack.Args, " "), err, out)
		}
		images = append(images, archive)
	}
	return binary, images, nil
}
