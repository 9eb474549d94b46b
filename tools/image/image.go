package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

const (
	entrypoint = "/reroll"
	// oldEntrypoint keeps manifests working that name the command of the controller this one
	// succeeds.
	oldEntrypoint = "/manager"
	// user is a number, because the kubelet cannot prove a name to be other than root.
	user = "65532:65532"

	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	typeIndex    = "application/vnd.oci.image.index.v1+json"
)

// blob is content with the digest it is stored under.
type blob struct {
	mediaType string
	digest    string
	data      []byte
}

func newBlob(mediaType string, data []byte) blob {
	return blob{mediaType: mediaType, digest: sha256Of(data), data: data}
}

func jsonBlob(mediaType string, v any) (blob, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return blob{}, fmt.Errorf("encoding %s: %w", mediaType, err)
	}
	return newBlob(mediaType, data), nil
}

func (b blob) descriptor() descriptor {
	return descriptor{MediaType: b.mediaType, Digest: b.digest, Size: int64(len(b.data))}
}

func sha256Of(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

type image struct {
	name    imageName
	arch    string
	created time.Time

	layer    blob
	config   blob
	manifest blob
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type imageConfig struct {
	Created time.Time `json:"created"`
	platform
	Config  runConfig `json:"config"`
	RootFS  rootFS    `json:"rootfs"`
	History []history `json:"history"`
}

type runConfig struct {
	User       string            `json:"User"`
	Entrypoint []string          `json:"Entrypoint"`
	WorkingDir string            `json:"WorkingDir"`
	Labels     map[string]string `json:"Labels"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

func newImage(name imageName, arch string, binary []byte, created time.Time) (*image, error) {
	im := &image{name: name, arch: arch, created: created}
	files, err := layerTar(binary, created)
	if err != nil {
		return nil, err
	}
	packed, err := compress(files)
	if err != nil {
		return nil, err
	}
	im.layer = newBlob(typeLayer, packed)
	im.config, err = jsonBlob(typeConfig, imageConfig{
		Created:  created,
		platform: im.platform(),
		Config: runConfig{
			User:       user,
			Entrypoint: []string{entrypoint},
			WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title":    "reroll",
				"org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version":  name.tag,
			},
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{sha256Of(files)}},
		History: []history{{Created: created, CreatedBy: "tools/image: " + entrypoint + ", the link " + oldEntrypoint + " and " + certificatesPath}},
	})
	if err != nil {
		return nil, err
	}
	im.manifest, err = jsonBlob(typeManifest, manifest{
		SchemaVersion: 2,
		MediaType:     typeManifest,
		Config:        im.config.descriptor(),
		Layers:        []descriptor{im.layer.descriptor()},
	})
	return im, err
}

func (im *image) platform() platform { return platform{Architecture: im.arch, OS: "linux"} }

// layerTar is the whole file system of the image. Its entries stand in the order of their names.
func layerTar(binary []byte, created time.Time) ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	if err := addCertificates(tw, created); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	link := header(oldEntrypoint[1:], 0o777, created)
	link.Typeflag = tar.TypeSymlink
	link.Linkname = entrypoint[1:]
	if err := tw.WriteHeader(link); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	if err := addFile(tw, header(entrypoint[1:], 0o755, created), binary); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	if err := tw.Close(); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return buf.Bytes(), nil
}

func addCertificates(tw *tar.Writer, created time.Time) error {
	for at, c := range certificatesPath {
		if c != '/' || at == 0 {
			continue
		}
		dir := header(certificatesPath[1:at+1], 0o755, created)
		dir.Typeflag = tar.TypeDir
		if err := tw.WriteHeader(dir); err != nil {
			return err
		}
	}
	return addFile(tw, header(certificatesPath[1:], 0o644, created), certificates())
}

// compress leaves the gzip header without name and time: both would make two builds differ.
func compress(data []byte) ([]byte, error) {
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	if _, err := zw.Write(data); err != nil {
		return nil, fmt.Errorf("compressing the layer: %w", err)
	}
	if err := zw.Close(); err != nil {
		return nil, fmt.Errorf("compressing the layer: %w", err)
	}
	return buf.Bytes(), nil
}
