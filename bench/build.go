package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const (
	controllerPackage = "github.com/reroll-dev/reroll/cmd/reroll"
	oneWatchPackage   = "github.com/reroll-dev/reroll/bench/onewatch"
	imagePackage      = "github.com/reroll-dev/reroll/tools/image"
)

// build builds a command as the image has it, and returns its path: the kernel maps less of a file
// without symbols.
func (b *bench) build(ctx context.Context, pkg string) (string, error) {
	binary := filepath.Join(b.folder, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return binary, nil
}

// buildImage puts the controller into an image, and returns the path of its archive.
func (s *stage) buildImage(ctx context.Context) (string, error) {
	archive := filepath.Join(s.folder, "image.tar")
	cmd := exec.CommandContext(ctx, "go", "run", imagePackage, "-binary", s.binary, "-arch", runtime.GOARCH, "-tag", "localhost/reroll:bench", "-o", archive)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go run %s: %w\n%s", imagePackage, err, out)
	}
	return archive, nil
}

// addSizes adds the sizes of both binaries, and of the image.
func (s *stage) addSizes(ctx context.Context, sh *sheet) error {
	archive, err := s.buildImage(ctx)
	if err != nil {
		return err
	}
	image, err := os.Stat(archive)
	if err != nil {
		return err
	}
	ours, err := os.Stat(s.binary)
	if err != nil {
		return err
	}
	bare, err := os.Stat(filepath.Join(s.folder, filepath.Base(oneWatchPackage)))
	if err != nil {
		return err
	}
	const mega = 1e6
	sh.add(binaryRow, "MB", float64(ours.Size())/mega)
	sh.beside(binaryRow, "one bare watch", float64(bare.Size())/mega)
	sh.add(imageRow, "MB", float64(image.Size())/mega) // the layers in it are compressed
	return nil
}

// addOneWatch starts a program that holds one watch and does nothing else.
func (s *stage) addOneWatch(ctx context.Context) (*peer, error) {
	binary, err := s.build(ctx, oneWatchPackage)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.folder, "onewatch.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p, err := launchPeer(binary, s.cluster.Kubeconfig(), log)
	if err == nil {
		s.others = append(s.others, p)
	}
	return p, err
}
