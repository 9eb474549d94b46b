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

// dockerImage is one entry of manifest.json. Docker reads this file alone; kind takes the names
// from it.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// write puts the archive into place in one step: a reader sees the old one or the new one, never
// half of it.
func write(images []*image, path string) (digest string, size int64, err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", 0, fmt.Errorf("-o %s: exists and is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", 0, fmt.Errorf("-o %s: cannot write to the directory %s: %w", path, filepath.Dir(path), cause(err))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("-o %s: %w", path, cause(err))
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	entries, root, err := layoutOf(images)
	if err != nil {
		return "", 0, err
	}
	if err := archive(f, entries, images[0].created); err != nil {
		return "", 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	// A temporary file is readable by its owner alone, but `sudo ctr` and a Docker daemon may read
	// it as somebody else.
	if err := f.Chmod(0o644); err != nil {
		return "", 0, err
	}
	if err := f.Close(); err != nil {
		return "", 0, err
	}
	return root.digest, info.Size(), os.Rename(f.Name(), path)
}

type entry struct {
	name string
	data []byte
}

func archive(w io.Writer, entries []entry, created time.Time) error {
	tw := tar.NewWriter(w)
	for _, e := range entries {
		var err error
		if strings.HasSuffix(e.name, "/") {
			dir := header(e.name, 0o755, created)
			dir.Typeflag = tar.TypeDir
			err = tw.WriteHeader(dir)
		} else {
			err = addFile(tw, header(e.name, 0o644, created), e.data)
		}
		if err != nil {
			return err
		}
	}
	return tw.Close()
}

// layoutOf returns the members of the archive in the order of their names, and what a registry
// knows the image by: the manifest of the only image, or the list of all.
func layoutOf(images []*image) ([]entry, blob, error) {
	entries := []entry{{name: "blobs/"}, {name: "blobs/sha256/"}}
	documents := map[string]any{"oci-layout": layout{Version: "1.0.0"}}
	var manifests []descriptor
	for _, im := range images {
		for _, b := range []blob{im.layer, im.config, im.manifest} {
			entries = append(entries, entry{blobPath(b), b.data})
		}
		d, platform := im.manifest.descriptor(), im.platform()
		d.Platform = &platform
		manifests = append(manifests, d)
	}
	first := images[0]
	root, top := first.manifest, manifests[0]
	if len(images) == 1 {
		documents["manifest.json"] = []dockerImage{{
			Config:   blobPath(first.config),
			RepoTags: []string{first.name.String()},
			Layers:   []string{blobPath(first.layer)},
		}}
	} else {
		// Docker's own format holds one architecture, so it is left out.
		var err error
		if root, err = jsonBlob(typeIndex, index{SchemaVersion: 2, MediaType: typeIndex, Manifests: manifests}); err != nil {
			return nil, blob{}, err
		}
		entries = append(entries, entry{blobPath(root), root.data})
		top = root.descriptor()
	}
	top.Annotations = map[string]string{
		// containerd names the imported image after this one, other readers of the layout after the
		// next.
		"io.containerd.image.name":          first.name.String(),
		"org.opencontainers.image.ref.name": first.name.tag,
	}
	documents["index.json"] = index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{top}}
	for name, v := range documents {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, blob{}, fmt.Errorf("encoding %s: %w", name, err)
		}
		entries = append(entries, entry{name, data})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return entries, root, nil
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
