package main

import (
	"os"
	"path/filepath"
	"strings"
)

// isRead reports whether tests read the file when they run, so that no build contains it.
func (m mutation) isRead() bool { return filepath.Ext(m.file) != ".go" }

// tree makes a repository in which a file that tests read has the mutation, and returns the folder of
// the tests in it. All else is linked.
func (m mutation) tree(folder string) (string, error) {
	tests := filepath.Join(folder, m.in)
	if err := os.MkdirAll(tests, 0o700); err != nil {
		return "", err
	}
	for _, into := range []string{".", filepath.Dir(m.in), m.in} {
		if err := link(into, filepath.Join(folder, into)); err != nil {
			return "", err
		}
	}
	top, _, _ := strings.Cut(m.file, "/")
	copied := filepath.Join(folder, top)
	if err := os.Remove(copied); err != nil {
		return "", err
	}
	if err := os.CopyFS(copied, os.DirFS(top)); err != nil {
		return "", err
	}
	return tests, m.write(filepath.Join(folder, m.file))
}

// link links what a folder contains into another one, unless it is there.
func link(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := filepath.Join(to, e.Name())
		if _, err := os.Lstat(at); err == nil {
			continue
		}
		original, err := filepath.Abs(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if err := os.Symlink(original, at); err != nil {
			return err
		}
	}
	return nil
}
