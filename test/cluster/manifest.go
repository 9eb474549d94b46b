package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// manifest stands beside the programs and says what a whole build holds.
type manifest struct {
	Sizes map[string]int64 `json:"sizes"`
	// What is in a program is looked at only if somebody has written to it: that takes a second for
	// all of them.
	Digests  map[string]string    `json:"digests"`
	Modified map[string]time.Time `json:"modified"`
}

const manifestFile = "built.json"

// newManifest describes the programs of a folder.
func newManifest(dir string) (manifest, error) {
	m := manifest{Sizes: map[string]int64{}, Digests: map[string]string{}, Modified: map[string]time.Time{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return m, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return m, err
		}
		m.Sizes[e.Name()], m.Modified[e.Name()] = info.Size(), info.ModTime()
		if m.Digests[e.Name()], err = digest(filepath.Join(dir, e.Name())); err != nil {
			return m, err
		}
	}
	return m, nil
}

func readManifest(dir string) (manifest, error) {
	var m manifest
	content, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("%s in %s: %w", manifestFile, dir, err)
	}
	return m, nil
}

func (m manifest) write(dir string) error {
	content, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestFile), content, 0o644) //nolint:gosec // as readable as the programs
}

func (m manifest) total() int64 {
	var sum int64
	for _, size := range m.Sizes {
		sum += size
	}
	return sum
}

// check says which program is not what was built.
func (m manifest) check(dir string) error {
	for name, size := range m.Sizes {
		st, err := os.Stat(filepath.Join(dir, name))
		switch {
		case err != nil:
			return fmt.Errorf("%s is missing in %s", name, dir)
		case st.Size() != size:
			return fmt.Errorf("%s in %s has %d bytes instead of %d", name, dir, st.Size(), size)
		case st.Mode()&0o111 == 0:
			return fmt.Errorf("%s in %s is not executable", name, dir)
		}
		if m.Digests[name] == "" || st.ModTime().Equal(m.Modified[name]) {
			continue
		}
		now, err := digest(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if now != m.Digests[name] {
			return fmt.Errorf("%s in %s holds something else than was built", name, dir)
		}
	}
	return nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
