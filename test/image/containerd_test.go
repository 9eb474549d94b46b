package image_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A containerd of the test's own: its files, socket, mounts and processes end with the test,
// however the test ends.
type containerd struct {
	dir    string
	socket string
	log    *bytes.Buffer
	exited chan struct{}
}

// native snapshots are plain copies: they need nothing from the file system below, unlike
// overlayfs.
const snapshotter = "native"

const config = `version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri"]

[grpc]
  address = %q
`

// inNamespaces becomes containerd as process 1 of a PID namespace: the shims, made to outlive it,
// then die with it. Its own /run keeps shim sockets and runc's state away from a containerd of the
// machine.
const inNamespaces = `mount --make-rprivate / && mount -t proc none /proc && mount -t tmpfs none /run &&
exec containerd --config "$1" --log-level warn`

func startContainerd(t *testing.T) *containerd {
	t.Helper()
	requirePrograms(t)
	// Not t.TempDir: its long path does not fit into the 107 bytes of a socket's name.
	dir, err := os.MkdirTemp("", "reroll-image-")
	if err != nil {
		t.Fatal(err)
	}
	c := &containerd{dir: dir, socket: filepath.Join(dir, "s"), log: &bytes.Buffer{}, exited: make(chan struct{})}
	file := filepath.Join(dir, "config.toml")
	text := fmt.Sprintf(config, filepath.Join(dir, "root"), filepath.Join(dir, "state"), c.socket)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", inNamespaces, "sh", file)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting containerd in its own namespaces: %v", err)
	}
	go func() {
		_ = cmd.Wait()
		close(c.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-c.exited
		if t.Failed() {
			t.Logf("containerd wrote:\n%s", c.log)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("removing the files of containerd: %v", err)
		}
	})
	c.waitUntilServing(t)
	return c
}

func requirePrograms(t *testing.T) {
	t.Helper()
	for _, p := range []struct{ name, install string }{
		{"containerd", "apt-get install -y containerd"},
		{"ctr", "apt-get install -y containerd"},
		{"runc", "apt-get install -y runc"},
	} {
		if _, err := exec.LookPath(p.name); err != nil {
			t.Fatalf("%s is not on PATH. This test loads the image into a real containerd; on Debian or Ubuntu: %s", p.name, p.install)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("containerd needs root: run this test with sudo, or in a container or VM where you are root")
	}
}

func (c *containerd) waitUntilServing(t *testing.T) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		if _, err := c.ctr(t.Context(), "version"); err == nil {
			return
		}
		select {
		case <-c.exited:
			t.Fatal("containerd ended at start")
		case <-deadline:
			t.Fatal("containerd did not answer within 30 s")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ctr returns what the command printed on stdout; stderr is part of the error.
func (c *containerd) ctr(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return command(ctx, "ctr", append([]string{"--address", c.socket}, args...)...)
}

func (c *containerd) mustCtr(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.ctr(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// run starts a container the way a pod with a read-only root does, and returns what it printed.
func (c *containerd) run(t *testing.T, id, image string, args ...string) string {
	t.Helper()
	fifos := filepath.Join(c.dir, "fifo")
	return c.mustCtr(t, append([]string{"run", "--rm", "--read-only", "--snapshotter", snapshotter, "--fifo-dir", fifos, image, id}, args...)...)
}

func command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}
