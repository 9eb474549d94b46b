package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
)

// checksums lists all files of the release as sha256sum -c reads it. It is the last step, and the
// mark of a whole release.
func (r *release) checksums(context.Context) error {
	files, err := os.ReadDir(r.part)
	if err != nil {
		return fmt.Errorf("list the release: %w", err)
	}
	var text strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(r.path(f.Name()))
		if err != nil {
			return fmt.Errorf("list the release: %w", err)
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), f.Name())
	}
	if err := r.write(marker, []byte(text.String())); err != nil {
		return err
	}
	r.say("%d files in %s", len(files)+1, r.out)
	return nil
}
