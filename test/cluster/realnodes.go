package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// A real node is a process with namespaces of its own, in which a kubelet and containerd run: see
// tools/node, which also holds the network between the nodes and this process. Docs:
// docs/adr/0014-real-nodes.md.

func realNodeSet() set {
	return set{
		what: "real nodes", main: "kubelet", takes: "8 minutes", disk: firstBuildDisk,
		parts: []part{kubeletPart(), {
			name: "node", module: "github.com/containernetworking/plugins", folder: "node",
			packages: []string{
				".",
				"github.com/containernetworking/plugins/plugins/ipam/host-local",
				"github.com/containernetworking/plugins/plugins/main/bridge",
				"github.com/containernetworking/plugins/plugins/main/loopback",
			},
			ldflags: func(string) string { return "" },
		}},
	}
}

// Names of files that tools/node knows too.
const (
	apiSocket    = "api.sock"
	egressSocket = "egress.sock"
)

func nodeIdentities(nodes int) []identity {
	var all []identity
	for i := range nodes {
		name := "node-" + strconv.Itoa(i+1)
		all = append(all, identity{
			file: name + ".kubeconfig", user: "system:node:" + name, groups: []string{"system:nodes"},
			server: "https://" + serviceIP,
		})
	}
	return all
}

const egressSelector = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: ` + egressSocket + `}}
`

// realNodeFlags let the API server reach kubelets and pods, for logs, exec and port-forward.
func (c *Cluster) realNodeFlags(nodes int) ([]string, error) {
	if nodes == 0 {
		return nil, nil
	}
	selector, err := c.writeFile("egress-selector.yaml", egressSelector)
	if err != nil {
		return nil, err
	}
	cert, key, err := c.pki.client("kube-apiserver-kubelet-client", "system:masters")
	if err != nil {
		return nil, err
	}
	certFile, err := c.writeFile("kubelet-client.crt", string(cert))
	if err != nil {
		return nil, err
	}
	keyFile, err := c.writeFile("kubelet-client.key", string(key))
	return []string{
		"--egress-selector-config-file=" + selector,
		"--kubelet-client-certificate=" + certFile, "--kubelet-client-key=" + keyFile,
		"--kubelet-preferred-address-types=InternalIP",
		"--allow-privileged",
	}, err
}

func (c *Cluster) startRealNodes(ctx context.Context, tools Tools, opts Options, images <-chan built) (*process, error) {
	made := <-images
	if made.err != nil {
		return nil, made.err
	}
	for i, settings := range opts.KubeletSettings {
		if _, err := c.writeFile(fmt.Sprintf("node-%d-kubelet.yaml", i+1), settings); err != nil {
			return nil, err
		}
	}
	if err := c.relayAPI(); err != nil {
		return nil, err
	}
	cgroup := controlGroup(c.dir.path)
	helper := filepath.Join(tools.node, "node")
	if err := c.startBroom(helper, cgroup); err != nil {
		return nil, err
	}
	args := []string{
		"fabric", "--dir=" + c.dir.path, "--nodes=" + strconv.Itoa(opts.RealNodes), "--cgroup=" + cgroup,
		"--tools=" + tools.node, "--pause=" + TestImage,
	}
	for _, image := range made.images {
		args = append(args, "--image="+image)
	}
	p, err := startProcessAs(withOwnNetwork(), "nodes", c.path("nodes.log"), nil, helper, args...)
	if err != nil {
		return nil, err
	}
	c.procs = append(c.procs, p)
	return p, ctx.Err()
}

// relayAPI passes connections of the nodes, which come through a socket, to the API server.
func (c *Cluster) relayAPI() error {
	// The name of a socket has 107 bytes at most, and that of the folder may take them.
	dir, err := os.Open(c.dir.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	listener, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), apiSocket))
	if err != nil {
		return fmt.Errorf("listen for the nodes: %w", err)
	}
	c.relay = listener
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.passOn(conn)
		}
	}()
	return nil
}

func (c *Cluster) passOn(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	api, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.apiPort)))
	if err != nil {
		return
	}
	defer func() { _ = api.Close() }()
	go func() {
		_, _ = io.Copy(api, conn)
		_ = api.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(conn, api)
}

// startBroom starts what removes the control groups of the nodes, after this process has ended in
// whatever way.
func (c *Cluster) startBroom(helper, cgroup string) error {
	cmd := exec.Command(helper, "broom", "--cgroup="+cgroup)
	cmd.SysProcAttr = detached()
	held, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start what cleans up after the nodes: %w", err)
	}
	c.broom, c.endBroom = cmd, held
	return nil
}

// controlGroup is the name of the control groups of a cluster, by its folder.
func controlGroup(dir string) string { return "reroll-" + filepath.Base(dir) }

// sweepControlGroups removes those of a cluster that has ended together with its broom. A folder of
// version 1 and one of version 2 are at different depths.
func sweepControlGroups(mounted, dir string) error {
	below, err := filepath.Glob(filepath.Join(mounted, "*", controlGroup(dir)))
	if err != nil {
		return err
	}
	var failed []error
	for _, top := range append(below, filepath.Join(mounted, controlGroup(dir))) {
		var groups []string
		// What is not there needs no removal.
		_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				groups = append(groups, path)
			}
			return nil
		})
		for _, group := range slices.Backward(groups) {
			if err := os.Remove(group); !errors.Is(err, fs.ErrNotExist) {
				failed = append(failed, err)
			}
		}
	}
	return errors.Join(failed...)
}

func (c *Cluster) endRealNodes() error {
	if c.broom == nil {
		return nil
	}
	err := errors.Join(c.relay.Close(), c.endBroom.Close())
	if swept := c.broom.Wait(); swept != nil {
		err = errors.Join(err, fmt.Errorf("control groups of the nodes are left in /sys/fs/cgroup: %w", swept))
	}
	c.broom = nil
	return err
}
