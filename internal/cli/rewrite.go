package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reroll-dev/reroll/internal/stamp"
)

// rewrite writes the files that have changed. First, it writes all new contents to temporary files.
// If the disk is full or a directory is read-only, no file is changed. Then it renames each
// temporary file.
func rewrite(files []*stamp.File) error {
	var all []replacement
	defer func() {
		for _, r := range all {
			_ = os.Remove(r.temporary) // fails after a rename, because the file is gone
		}
	}()
	for _, f := range files {
		if !f.Changed() {
			continue
		}
		r, err := prepare(f)
		if r.temporary != "" {
			all = append(all, r)
		}
		if err != nil {
			return fmt.Errorf("%s: %w; no file was changed", f.Name, cmp.Or(errors.Unwrap(err), err))
		}
	}
	for _, r := range all {
		if err := os.Rename(r.temporary, r.path); err != nil {
			return err
		}
	}
	return nil
}

// replacement is a temporary file that replaces another one.
type replacement struct{ temporary, path string }

// prepare writes the temporary file. It follows symbolic links, so that links are preserved.
func prepare(f *stamp.File) (replacement, error) {
	path, err := filepath.EvalSymlinks(f.Name)
	if err != nil {
		return replacement{}, err
	}
	was, err := os.Stat(path)
	if err != nil {
		return replacement{}, err
	}
	// A read-only file stays as it is, even if its directory would permit a rename.
	old, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return replacement{}, err
	}
	old.Close()
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return replacement{}, err
	}
	defer file.Close()
	r := replacement{temporary: file.Name(), path: path}
	out := bufio.NewWriter(file)
	if _, err := f.WriteTo(out); err != nil {
		return r, err
	}
	if err := out.Flush(); err != nil {
		return r, err
	}
	if err := file.Chmod(was.Mode().Perm()); err != nil {
		return r, err
	}
	return r, file.Sync()
}
