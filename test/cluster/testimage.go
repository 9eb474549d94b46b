package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reroll-dev/reroll/test/checkout"
)

// TestImage is what the nodes have instead of a registry: one program (test/app) that shows what a
// container reads. The kubelet starts each pod with it, too.
const TestImage = "localhost/reroll-test-app:1"

// exampleImage is that of the examples, which no node here can pull. It is replaced by the program
// of TestImage, which understands how they start theirs.
const exampleImage = "registry.k8s.io/e2e-test-images/agnhost:2.53"

// Images are the names of the images that each real node has. Nothing can be pulled.
func Images() []string { return []string{TestImage, exampleImage} }

// built are archives of images.
type built struct {
	images []string
	err    error
}

// buildImages builds them beside everything else that a start takes.
func (c *Cluster) buildImages(ctx context.Context, opts Options) <-chan built {
	done := make(chan built, 1)
	if opts.RealNodes == 0 {
		return done
	}
	go func() {
		images, err := c.buildTestImages(ctx)
		done <- built{append(images, opts.Images...), err}
	}()
	return done
}

func (c *Cluster) buildTestImages(ctx context.Context) ([]string, error) {
	root, err := checkout.Root()
	if err != nil {
		return nil, err
	}
	programs := c.path("programs")
	build := exec.CommandContext(ctx, "go", "build", "-o", programs+string(filepath.Separator), "-ldflags=-s -w", "./test/app", "./tools/image")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if err := finish(build); err != nil {
		return nil, err
	}
	var images []string
	for i, name := range Images() {
		archive := c.path(fmt.Sprintf("image-%d.tar", i+1))
		pack := exec.CommandContext(ctx, filepath.Join(programs, "image"),
			"-binary", filepath.Join(programs, "app"), "-arch", runtime.GOARCH, "-tag", name, "-o", archive)
		if err := finish(pack); err != nil {
			return nil, err
		}
		images = append(images, archive)
	}
	return images, nil
}

// finish runs a program to its end, which comes earlier if this process ends.
func finish(cmd *exec.Cmd) error {
	cmd.SysProcAttr = dieWithParent()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
