package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"slices"
	"strings"
)

// packed is one file of an archive.
type packed struct {
	name string
	mode int64
	data []byte
}

func sorted(files []packed) []packed {
	return slices.SortedFunc(slices.Values(files), func(a, b packed) int { return strings.Compare(a.name, b.name) })
}

// tarball writes files in the order of their names, as root's, with the date of the commit. Neither
// the name of the archive nor a time is in the header of gzip.
func (r *release) tarball(name string, files []packed) error {
	var buf bytes.Buffer
	zw, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return err
	}
	tw := tar.NewWriter(zw)
	for _, f := range sorted(files) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: r.date, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := tw.Write(f.data); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := tw.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return r.write(name, buf.Bytes())
}

func (r *release) zip(name string, files []packed) error {
	var buf bytes.Buffer
	zw := zip.NewWriter(&buf)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(f.mode)) //nolint:gosec // the modes of this program
		w, err := zw.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := zw.Close(); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return r.write(name, buf.Bytes())
}

// write puts one file into the release.
func (r *release) write(name string, data []byte) error {
	if err := os.WriteFile(r.path(name), data, 0o644); err != nil { //nolint:gosec // to be read by anybody
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
