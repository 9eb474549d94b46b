// Package image_test loads the image into a real containerd and runs it there. It needs root and,
// on Debian, apt-get install -y containerd; without them it fails, because an image nobody has
// started proves nothing.
package image_test

import (
	"archive/tar"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const name = "localhost/reroll:0.1.0-test"

type built struct {
	binary string
	// archive is the file that tools/image wrote, digest that of the manifest in it.
	archive string
	digest  string
}

func buildImage(t *testing.T) built {
	t.Helper()
	dir := t.TempDir()
	b := built{binary: filepath.Join(dir, "reroll"), archive: filepath.Join(dir, "image.tar")}
	goTool(t, "build", "-o", b.binary, "./cmd/reroll")
	goTool(t, "run", "./tools/image", "-binary", b.binary, "-arch", runtime.GOARCH, "-tag", name, "-o", b.archive)
	b.digest = manifestDigest(t, b.archive)
	return b
}

func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func manifestDigest(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for tr := tar.NewReader(f); ; {
		h, err := tr.Next()
		if err != nil {
			t.Fatalf("looking for index.json in the archive: %v", err)
		}
		if h.Name != "index.json" {
			continue
		}
		var index struct{ Manifests []struct{ Digest string } }
		if err := json.NewDecoder(tr).Decode(&index); err != nil || len(index.Manifests) != 1 {
			t.Fatalf("index.json: %+v, %v", index, err)
		}
		return index.Manifests[0].Digest
	}
}

func TestContainerdLoadsAndRunsTheImage(t *testing.T) {
	c := startContainerd(t)
	b := buildImage(t)
	c.mustCtr(t, "images", "import", "--snapshotter", snapshotter, b.archive)

	t.Run("it is listed under its name, digest and platform", func(t *testing.T) {
		row := findRow(t, c.mustCtr(t, "images", "ls", "name=="+name), name)
		for _, want := range []string{b.digest, "linux/" + runtime.GOARCH, "application/vnd.oci.image.manifest.v1+json"} {
			if !slices.Contains(row, want) {
				t.Errorf("no %s in %q", want, row)
			}
		}
	})

	t.Run("its content is complete and unpacks", func(t *testing.T) {
		row := strings.Join(findRow(t, c.mustCtr(t, "images", "check", "--snapshotter", snapshotter), name), " ")
		if !strings.Contains(row, " complete (2/2) ") || !strings.HasSuffix(row, " true") {
			t.Errorf("images check: %s", row)
		}
	})

	t.Run("it imports the way kind does it", func(t *testing.T) {
		c.mustCtr(t, "--namespace", "k8s.io", "images", "import", "--all-platforms", "--digests", "--snapshotter", snapshotter, b.archive)
		findRow(t, c.mustCtr(t, "--namespace", "k8s.io", "images", "ls"), name)
	})

	t.Run("a container of it starts the binary as an ordinary user", func(t *testing.T) {
		c.mustCtr(t, "containers", "create", "--snapshotter", snapshotter, name, "inspected")
		var info struct {
			Spec struct {
				Process struct {
					User struct{ UID, GID int }
					Args []string
					Cwd  string
				}
			}
		}
		if err := json.Unmarshal([]byte(c.mustCtr(t, "containers", "info", "inspected")), &info); err != nil {
			t.Fatal(err)
		}
		p := info.Spec.Process
		if p.User.UID != 65532 || p.User.GID != 65532 || !slices.Equal(p.Args, []string{"/reroll"}) || p.Cwd != "/" {
			t.Errorf("process: %+v", p)
		}
	})

	t.Run("the binary runs, under both of its names", func(t *testing.T) {
		want, err := command(t.Context(), b.binary, "--version")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			t.Fatal("reroll --version prints nothing")
		}
		for id, program := range map[string]string{"new-name": "/reroll", "old-name": "/manager"} {
			if got := c.run(t, id, name, program, "--version"); got != want {
				t.Errorf("%s --version in a container prints %q, outside %q", program, got, want)
			}
		}
	})
}

// findRow returns the cells of the row of a table that ctr printed.
func findRow(t *testing.T, table, first string) []string {
	t.Helper()
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] == first {
			return cells
		}
	}
	t.Fatalf("no %s in:\n%s", first, table)
	return nil
}
