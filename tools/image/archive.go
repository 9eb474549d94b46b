package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

type layout struct {
	Version string `json:"imageLayoutVersion"`
}

// dockerImage is one entry of manifest.json. Docker reads this file alone; kind takes the names from it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// write puts the archive into place in one step: a reader sees the old one or the new one, never half of it.
func (im *image) write(path string) (size int64, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return 0, fmt.Errorf("-o %s: exists and is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return 0, fmt.Errorf("-o %s: cannot write to the directory %s: %w", path, filepath.Dir(path), cause(err))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("-o %s: %w", path, cause(err))
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := im.archive(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	// A temporary file is readable by its owner alone, but `sudo ctr` and a Docker daemon may read it as somebody else.
	if err := f.Chmod(0o644); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return info.Size(), os.Rename(f.Name(), path)
}

type entry struct {
	name string
	data []byte
}

func (im *image) archive(w io.Writer) error {
	entries, err := im.entries()
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	for _, e := range entries {
		if strings.HasSuffix(e.name, "/") {
			dir := header(e.name, 0o755, im.created)
			dir.Typeflag = tar.TypeDir
			err = tw.WriteHeader(dir)
		} else {
			err = addFile(tw, header(e.name, 0o644, im.created), e.data)
		}
		if err != nil {
			return err
		}
	}
	return tw.Close()
}

func (im *image) entries() ([]entry, error) {
	entries := []entry{{name: "blobs/"}, {name: "blobs/sha256/"}}
	for _, b := range []blob{im.layer, im.config, im.manifest} {
		entries = append(entries, entry{blobPath(b), b.data})
	}
	root := im.manifest.descriptor()
	platform := im.platform()
	root.Platform = &platform
	root.Annotations = map[string]string{
		// containerd names the imported image after this one, other readers of the layout after the next.
		"io.containerd.image.name":          im.name.String(),
		"org.opencontainers.image.ref.name": im.name.tag,
	}
	for name, v := range map[string]any{
		"oci-layout": layout{Version: "1.0.0"},
		"index.json": index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{root}},
		"manifest.json": []dockerImage{{
			Config:   blobPath(im.config),
			RepoTags: []string{im.name.String()},
			Layers:   []string{blobPath(im.layer)},
		}},
	} {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("encoding %s: %w", name, err)
		}
		entries = append(entries, entry{name, data})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, nil
}

func blobPath(b blob) string { return "blobs/" + strings.Replace(b.digest, ":", "/", 1) }

// header belongs to root and carries the one time of the archive, whoever builds it and whenever.
func header(name string, mode int64, created time.Time) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, ModTime: created, Format: tar.FormatUSTAR}
}

func addFile(tw *tar.Writer, h *tar.Header, data []byte) error {
	h.Size = int64(len(data))
	if err := tw.WriteHeader(h); err != nil {
		return err
	}
	_, err := tw.Write(data)
	return err
}
