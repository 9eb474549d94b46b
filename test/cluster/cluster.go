// Package cluster starts a throwaway Kubernetes on loopback as child processes: etcd,
// kube-apiserver, kube-controller-manager, kube-scheduler, and kwok in the place of kubelets.
// Everything but the kubelet is the real program, so admission, patch semantics, garbage collection
// and rollouts are real. On nodes of kwok, Pods become Ready without running a container. On real
// nodes (Options.RealNodes), a kubelet and containerd run the containers.
//
// The programs are built once from the Go module proxy and kept in the user's cache folder (see
// build.go).
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// Options says what kind of cluster is wanted. The zero value is one with two nodes on a free port.
type Options struct {
	// Nodes is how many nodes exist; 0 means two, and NoNodes none at all, so that pods stay
	// Pending.
	Nodes int
	// RealNodes is how many nodes there are that run containers, in the place of all others. They
	// need root and some programs: see RealNodesSupported.
	RealNodes int
	// KubeletSettings are added to the configuration of the kubelet of each real node, those of the
	// first node first.
	KubeletSettings []string
	// Images are archives of images that each real node has, beside TestImage.
	Images []string
	// Port is where the API server listens; 0 takes a free one.
	Port int
	// APIServerFlags are added after the cluster's own, so a flag given here wins.
	APIServerFlags []string
	// Stages is a kwok configuration that replaces its built-in one, for pods that fail, hang or
	// start slowly.
	Stages string
	// Progress is told what a build does and how long it takes. Nothing is said when all is built;
	// nil is silent.
	Progress io.Writer
}

// NoNodes as Options.Nodes asks for a cluster without any.
const NoNodes = -1

const defaultNodes = 2

// Cluster is a running one. Its processes die with this one, however this one ends.
type Cluster struct {
	dir     *runDir
	pki     *pki
	ports   *portSet
	apiPort int
	procs   []*process
	admin   *rest.Config
	// borrowed reports whether another process has started it.
	borrowed bool

	argoCDRedis string

	// Of real nodes: by the relay they reach the API server, and the broom removes their control
	// groups when endBroom is closed, also by the end of this process.
	relay    io.Closer
	broom    *exec.Cmd
	endBroom io.Closer
}

// Start builds what is not built yet, starts every component and returns when the cluster can be
// used: the API server answers, the controllers run, the scheduler runs and the nodes are Ready.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	tools, err := Build(ctx, opts.Progress)
	if err != nil {
		return nil, err
	}
	if opts.RealNodes > 0 {
		if err := RealNodesSupported(); err != nil {
			return nil, err
		}
		if tools.node, err = buildSet(ctx, realNodeSet(), opts.Progress); err != nil {
			return nil, err
		}
	}
	dir, err := newRunDir()
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, ports: newPortSet()}
	if err := c.start(ctx, tools, opts); err != nil {
		_ = c.kill()
		// The folder stays: the error names log files in it. A later start sweeps it away.
		dir.abandon()
		if errors.Is(err, syscall.ENOSPC) {
			err = fmt.Errorf("%w\n%s", err, diskFullHint(dir.path))
		}
		return nil, err
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context, tools Tools, opts Options) error {
	var err error
	if c.pki, err = newPKI(c.dir.path); err != nil {
		return err
	}
	if c.apiPort, err = c.ports.take(opts.Port); err != nil {
		return err
	}
	for _, id := range append(identities(), nodeIdentities(opts.RealNodes)...) {
		if err := c.writeIdentity(id); err != nil {
			return err
		}
	}
	if c.admin, err = c.readAdmin(); err != nil {
		return err
	}

	startup, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("not ready within %s", startTimeout))
	defer cancel()
	return c.startComponents(startup, tools, opts)
}

// startTimeout bounds a start that hangs. A warm start takes about 5 s; a machine with a build on
// every core is slower.
const startTimeout = 3 * time.Minute

// Kubeconfig is the path of a kubeconfig with every permission.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir.path, adminKubeconfig) }

// Config is a client configuration with every permission and without a client-side limit. Each call
// returns a copy.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// AuditLog is the path of the API server's audit log: one JSON object per line, at Metadata level.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir.path, "audit.log") }

// Dir is the folder that holds the logs, named like their components, and everything else the
// cluster writes.
func (c *Cluster) Dir() string { return c.dir.path }

// Check says which component has ended, if one has.
func (c *Cluster) Check() error {
	var errs []error
	for _, p := range c.procs {
		if err := p.ended(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Broken returns when a component has ended by itself, and says which. It returns nil when the
// context ends.
func (c *Cluster) Broken(ctx context.Context) error {
	ended := make(chan *process, len(c.procs))
	for _, p := range c.procs {
		go func() {
			select {
			case <-p.done:
				ended <- p
			case <-ctx.Done():
			}
		}()
	}
	select {
	case p := <-ended:
		return p.ended()
	case <-ctx.Done():
		return nil
	}
}

// Stop kills every component and removes the folder, unless a component has ended by itself: then
// its log is what one wants to see, and the folder stays as that of a start that has failed.
// Killed, not asked: on SIGTERM the API server lingers for up to a minute for clients that are
// gone, and nothing that it would save is wanted.
func (c *Cluster) Stop() error {
	if c.borrowed {
		return nil
	}
	broken := slices.ContainsFunc(c.procs, func(p *process) bool { return p.ended() != nil })
	err := c.kill()
	if broken {
		c.dir.abandon()
		return err
	}
	return errors.Join(err, c.dir.remove())
}

func (c *Cluster) kill() error {
	for _, p := range slices.Backward(c.procs) {
		p.kill()
	}
	c.ports.release()
	return c.endRealNodes()
}

func (c *Cluster) path(name string) string { return filepath.Join(c.dir.path, name) }

func (c *Cluster) writeFile(name, content string) (string, error) {
	path := c.path(name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return path, nil
}
