package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

type member struct {
	header *tar.Header
	data   []byte
}

func untar(t *testing.T, r io.Reader) []member {
	t.Helper()
	var all []member
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, member{h, data})
	}
}

type contents struct {
	members  []member
	index    index
	manifest manifest
	docker   []dockerImage
	// config stays untyped, so that a test sees the keys that other programs look for.
	config map[string]any
	layer  []byte
}

func (c contents) get(t *testing.T, name string) []byte {
	t.Helper()
	for _, m := range c.members {
		if m.header.Name == name {
			return m.data
		}
	}
	t.Fatalf("the archive has no %s", name)
	return nil
}

func (c contents) blob(t *testing.T, d descriptor) []byte {
	t.Helper()
	data := c.get(t, "blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:"))
	if int64(len(data)) != d.Size {
		t.Errorf("%s: %d bytes, its descriptor says %d", d.Digest, len(data), d.Size)
	}
	return data
}

// read follows the archive the way an OCI reader does, from the index to the layer.
func read(t *testing.T, archive []byte) contents {
	t.Helper()
	c := contents{members: untar(t, bytes.NewReader(archive))}
	decode(t, c.get(t, "index.json"), &c.index)
	decode(t, c.get(t, "manifest.json"), &c.docker)
	if len(c.index.Manifests) != 1 {
		t.Fatalf("index.json: %+v", c.index)
	}
	decode(t, c.blob(t, c.index.Manifests[0]), &c.manifest)
	decode(t, c.blob(t, c.manifest.Config), &c.config)
	if len(c.manifest.Layers) != 1 {
		t.Fatalf("manifest: %+v", c.manifest)
	}
	zr, err := gzip.NewReader(bytes.NewReader(c.blob(t, c.manifest.Layers[0])))
	if err != nil {
		t.Fatal(err)
	}
	if c.layer, err = io.ReadAll(zr); err != nil {
		t.Fatal(err)
	}
	if zr.Name != "" || !zr.ModTime.IsZero() {
		t.Errorf("gzip header: name %q, time %v", zr.Name, zr.ModTime)
	}
	return c
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func TestArchiveIsALayoutThatDockerAndContainerdRead(t *testing.T) {
	archive, _ := build(t, "", "-binary", staticBinary(t), "-arch", "amd64", "-tag", name)
	c := read(t, archive)

	var names []string
	for _, m := range c.members {
		names = append(names, m.header.Name)
		if m.header.Uid != 0 || m.header.Gid != 0 || m.header.Uname != "" || !m.header.ModTime.Equal(time.Unix(0, 0)) {
			t.Errorf("%s: owner %d:%d %q, time %v", m.header.Name, m.header.Uid, m.header.Gid, m.header.Uname, m.header.ModTime)
		}
		if hash, isBlob := strings.CutPrefix(m.header.Name, "blobs/sha256/"); isBlob && hash != "" && hash != digestOf(m.data) {
			t.Errorf("%s holds content with the digest %s", m.header.Name, digestOf(m.data))
		}
	}
	if !slices.IsSorted(names) || len(names) != 8 {
		t.Errorf("members: %q", names)
	}
	if got := string(c.get(t, "oci-layout")); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", got)
	}

	root := c.index.Manifests[0]
	wantAnnotations := map[string]string{
		"io.containerd.image.name":          name,
		"org.opencontainers.image.ref.name": "0.1.0-dev",
	}
	if !reflect.DeepEqual(root.Annotations, wantAnnotations) {
		t.Errorf("annotations: %v", root.Annotations)
	}
	if *root.Platform != (platform{"amd64", "linux"}) {
		t.Errorf("platform: %+v", *root.Platform)
	}
	wantDocker := []dockerImage{{
		Config:   strings.Replace(c.manifest.Config.Digest, "sha256:", "blobs/sha256/", 1),
		RepoTags: []string{name},
		Layers:   []string{strings.Replace(c.manifest.Layers[0].Digest, "sha256:", "blobs/sha256/", 1)},
	}}
	if !reflect.DeepEqual(c.docker, wantDocker) {
		t.Errorf("manifest.json: %+v", c.docker)
	}
	types := []string{c.index.MediaType, root.MediaType, c.manifest.MediaType, c.manifest.Config.MediaType, c.manifest.Layers[0].MediaType}
	if want := []string{typeIndex, typeManifest, typeManifest, typeConfig, typeLayer}; !slices.Equal(types, want) {
		t.Errorf("media types: %q", types)
	}
}

func TestConfigRunsTheBinaryWithoutPrivileges(t *testing.T) {
	archive, _ := build(t, "1767225600", "-binary", staticBinary(t), "-arch", "amd64", "-tag", name)
	c := read(t, archive)
	want := map[string]any{
		"created":      "2026-01-01T00:00:00Z",
		"architecture": "amd64",
		"os":           "linux",
		"config": map[string]any{
			"User":       "65532:65532",
			"Entrypoint": []any{"/reroll"},
			"WorkingDir": "/",
			"Labels": map[string]any{
				"org.opencontainers.image.title":    "reroll",
				"org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version":  "0.1.0-dev",
			},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []any{"sha256:" + digestOf(c.layer)}},
		"history": []any{map[string]any{"created": "2026-01-01T00:00:00Z", "created_by": "tools/image: /reroll, the link /manager and /etc/ssl/certs/ca-certificates.crt"}},
	}
	if !reflect.DeepEqual(c.config, want) {
		t.Errorf("config:\n%v\nwant\n%v", c.config, want)
	}
}

func TestLayerHoldsTheBinaryItsOldNameAndCertificates(t *testing.T) {
	path := staticBinary(t)
	archive, _ := build(t, "1767225600", "-binary", path, "-arch", "amd64", "-tag", name)
	files := untar(t, bytes.NewReader(read(t, archive).layer))
	var names []string
	for _, f := range files {
		names = append(names, f.header.Name)
	}
	if want := []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "etc/ssl/certs/ca-certificates.crt", "manager", "reroll"}; !slices.Equal(names, want) {
		t.Fatalf("entries: %q", names)
	}
	link, program := files[4].header, files[5].header
	if link.Name != "manager" || link.Typeflag != tar.TypeSymlink || link.Linkname != "reroll" {
		t.Errorf("first entry: %+v", link)
	}
	if program.Name != "reroll" || program.Typeflag != tar.TypeReg || program.Mode != 0o755 {
		t.Errorf("second entry: %+v", program)
	}
	for _, f := range files {
		h := f.header
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 1767225600 {
			t.Errorf("%s: owner %d:%d, time %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(files[5].data, want) {
		t.Error("/reroll differs from the binary that was given")
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(files[3].data) || files[3].header.Mode != 0o644 || bytes.Count(files[3].data, []byte("BEGIN CERTIFICATE")) < 100 {
		t.Errorf("certificates: mode %o, %d bytes", files[3].header.Mode, len(files[3].data))
	}
}

func TestOneArchiveForSeveralArchitectures(t *testing.T) {
	dir := t.TempDir()
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		if err := os.WriteFile(filepath.Join(dir, "reroll-"+arch), forge(t, elf.ET_EXEC, machine), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive, printed := build(t, "", "-binary", filepath.Join(dir, "reroll-{arch}"), "-arch", "amd64,arm64", "-tag", name)
	c := contents{members: untar(t, bytes.NewReader(archive))}
	decode(t, c.get(t, "index.json"), &c.index)
	top := c.index.Manifests[0]
	if top.MediaType != typeIndex || top.Platform != nil || !strings.Contains(printed, "digest "+top.Digest) {
		t.Errorf("%+v\n%s", top, printed)
	}
	var all index
	decode(t, c.blob(t, top), &all)
	var platforms []string
	for _, d := range all.Manifests {
		platforms = append(platforms, d.Platform.OS+"/"+d.Platform.Architecture)
		var m manifest
		decode(t, c.blob(t, d), &m)
		var config struct{ Architecture string }
		if err := json.Unmarshal(c.blob(t, m.Config), &config); err != nil || config.Architecture != d.Platform.Architecture {
			t.Errorf("%s: config for %s, %v", d.Platform.Architecture, config.Architecture, err)
		}
		c.blob(t, m.Layers[0])
	}
	if !slices.Equal(platforms, []string{"linux/amd64", "linux/arm64"}) {
		t.Errorf("platforms: %q", platforms)
	}
	// Docker would load the first alone, and say nothing.
	if slices.ContainsFunc(c.members, func(m member) bool { return m.header.Name == "manifest.json" }) {
		t.Error("it has a manifest.json")
	}
}

func TestSameInputGivesTheSameBytes(t *testing.T) {
	first := staticBinary(t)
	second := staticBinary(t)
	long := time.Now().Add(-1000 * time.Hour)
	if err := os.Chtimes(second, long, long); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(second, 0o444); err != nil {
		t.Fatal(err)
	}
	if filepath.Dir(first) == filepath.Dir(second) {
		t.Fatal("both binaries have the same path")
	}
	archive := func(binary, epoch, tag string) []byte {
		data, _ := build(t, epoch, "-binary", binary, "-arch", "amd64", "-tag", tag)
		return data
	}
	base := archive(first, "", name)
	if !bytes.Equal(base, archive(second, "0", name)) {
		t.Error("path, mode or time of the binary changed the archive")
	}
	for about, other := range map[string][]byte{
		"the time":     archive(first, "1", name),
		"the tag":      archive(first, "", name+"2"),
		"the registry": archive(first, "", "x."+name),
	} {
		if bytes.Equal(base, other) {
			t.Errorf("%s does not show in the archive", about)
		}
	}
}
