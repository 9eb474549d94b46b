package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mend replaces a text in a source of a part's module. It is for faults that would fail tests at random.
// A version that has another text there is not built: its pin moves together with the mend.
type mend struct{ file, old, new string }

// mended copies the module of a part into a folder, mends the copy, and returns the flags with which it
// is built instead of the one in Go's cache, whose files cannot be overlaid.
func (b *builder) mended(ctx context.Context, p part, folder string) ([]string, error) {
	original, err := b.goSays(ctx, p, "list", "-m", "-f", "{{.Dir}}", p.module)
	if err != nil {
		return nil, err
	}
	module := filepath.Join(folder, "module")
	if err := os.CopyFS(module, os.DirFS(strings.TrimSpace(string(original)))); err != nil {
		return nil, err
	}
	for _, m := range p.mends {
		if err := m.apply(module); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(b.modules, p.folder, name))
		if err != nil {
			return nil, err
		}
		if name == "go.mod" {
			content = fmt.Appendf(content, "\nreplace %s => %q\n", p.module, module)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"-modfile", filepath.Join(folder, "go.mod")}, nil
}

func (m mend) apply(module string) error {
	path := filepath.Join(module, m.file)
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := bytes.Count(source, []byte(m.old)); n != 1 {
		return fmt.Errorf("%s has %q %d times: its mend is for another version: adapt it, or remove it if it is not needed any more", m.file, m.old, n)
	}
	return os.WriteFile(path, bytes.Replace(source, []byte(m.old), []byte(m.new), 1), 0o600)
}
