package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Where a node finds what is outside of it. Its own /run and /var cover those of the machine, which
// may hold any of these.
const (
	hostDir    = "/run/host/cluster"
	hostTools  = "/run/host/tools"
	hostImages = "/run/host/images"
)

const containerdSocket = "/run/containerd/containerd.sock"

// runNode is process 1 of a node. It returns when kubelet or containerd has ended, and everything
// in the node ends with it.
func runNode(c *config) error {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // which ends when the network interface is there
		return err
	}
	if err := arrange(c); err != nil {
		return err
	}
	if err := connectNode(c); err != nil {
		return err
	}
	if err := writeSettings(c); err != nil {
		return err
	}
	p := newProcesses()
	containerd, err := p.start(c, "containerd", "containerd", "--config=/run/node/containerd.toml", "--log-level=warn")
	if err != nil {
		return err
	}
	// A kubelet that finds no image pulls it, and waits longer after each failure.
	if err := importImages(c, p, containerd); err != nil {
		return err
	}
	kubelet, err := p.start(c, "kubelet", hostTools+"/kubelet",
		"--config=/run/node/kubelet.yaml", "--kubeconfig="+filepath.Join(hostDir, c.name()+".kubeconfig"),
		"--hostname-override="+c.name(), "--node-ip="+nodeIP(c.index))
	if err != nil {
		return err
	}
	select {
	case status := <-containerd:
		return fmt.Errorf("containerd: %s; its log: %s", describe(status), c.path(c.name()+"-containerd.log"))
	case status := <-kubelet:
		return fmt.Errorf("kubelet: %s; its log: %s", describe(status), c.path(c.name()+"-kubelet.log"))
	}
}

// arrange gives the node files of its own: the paths that kubelet and containerd have built in are
// then private.
func arrange(c *config) error {
	outside := map[string]string{hostDir: c.dir, hostTools: c.tools}
	for i, image := range c.images {
		outside[filepath.Join(hostImages, strconv.Itoa(i))] = image
	}
	opened := map[string]*os.File{}
	for at, path := range outside {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		opened[at] = f
	}
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"proc", "/proc", "proc", 0},
		{"tmpfs", "/run", "tmpfs", 0},
		{"tmpfs", "/var", "tmpfs", 0},
		// The network interfaces below /sys are those of the network namespace that mounts it.
		{"sysfs", "/run/sys", "sysfs", 0},
		{cgroups, "/run/sys/fs/cgroup", "", syscall.MS_BIND | syscall.MS_REC},
		{"/run/sys", "/sys", "", syscall.MS_MOVE},
	} {
		if m.target == "/run/sys" {
			if err := os.Mkdir(m.target, 0o755); err != nil {
				return err
			}
		}
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.source, m.target, err)
		}
	}
	// The kubelet uses mounts to share volumes with containers.
	if err := syscall.Mount("", "/var", "", syscall.MS_SHARED|syscall.MS_REC, ""); err != nil {
		return err
	}
	for at, f := range opened {
		if err := bind(f, at); err != nil {
			return err
		}
	}
	return ownSysctls()
}

// bind shows an opened file or folder at another place.
func bind(f *os.File, at string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if info.IsDir() {
		err = os.Mkdir(at, 0o755)
	} else {
		err = os.WriteFile(at, nil, 0o600)
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), at, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s to %s: %w", f.Name(), at, err)
	}
	return nil
}

// ownSysctls hides settings of the kernel that count for the whole machine. A kubelet that finds
// other values writes these.
func ownSysctls() error {
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		hidden := "/proc/sys/" + name
		if _, err := os.Stat(hidden); os.IsNotExist(err) {
			continue
		}
		shown := "/run/sysctl-" + strings.ReplaceAll(name, "/", "-")
		if err := os.WriteFile(shown, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := syscall.Mount(shown, hidden, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("cover %s: %w", hidden, err)
		}
	}
	return nil
}

func connectNode(c *config) error {
	if err := syscall.Sethostname([]byte(c.name())); err != nil {
		return err
	}
	if err := ip("link set lo up", "address add "+nodeIP(c.index)+"/24 dev eth0", "link set eth0 up",
		"route add default via "+gateway); err != nil {
		return err
	}
	return forwardPackets()
}

// importImages waits until containerd serves.
func importImages(c *config, p *processes, containerd <-chan syscall.WaitStatus) error {
	for {
		version, err := p.start(c, "ctr", "ctr", "--address="+containerdSocket, "version")
		if err != nil {
			return err
		}
		if status := <-version; status.ExitStatus() == 0 {
			break
		}
		select {
		case status := <-containerd:
			return fmt.Errorf("containerd: %s; its log: %s", describe(status), c.path(c.name()+"-containerd.log"))
		case <-time.After(20 * time.Millisecond):
		}
	}
	for i, image := range c.images {
		done, err := p.start(c, "ctr", "ctr", "--address="+containerdSocket, "--namespace=k8s.io", "images", "import",
			filepath.Join(hostImages, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if status := <-done; status.ExitStatus() != 0 {
			return fmt.Errorf("import %s: %s; the log: %s", image, describe(status), c.path(c.name()+"-ctr.log"))
		}
	}
	return nil
}

func describe(status syscall.WaitStatus) string {
	if status.Signaled() {
		return "ended by signal " + strconv.Itoa(int(status.Signal()))
	}
	return "exit status " + strconv.Itoa(status.ExitStatus())
}
