package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// account is the ServiceAccount of the manifest that is shipped, and of a peer.
const account = "reroll"

// subject is which controller plays: that of this repository, or a peer by its command line.
type subject struct{ peer string }

// worker is a controller that runs.
type worker interface {
	PID() int
	Running() error
	Stop(ctx context.Context) error
	Kill()
}

// unbounded is what the controller is always run with beyond what is shipped. The first ledgers of
// thousands of workloads at 20 a second take minutes in which nothing is measured. The limit of
// reloads per workload would hold back what a soak measures, and a probe that a slow machine
// repeats.
func unbounded() []string {
	return []string{"--adopt-rate=10000", "--churn=off", "--namespaces-to-ignore=" + twins}
}

// install gives the controller its permissions. A peer may do everything: what it needs is not
// known here.
func (s *stage) install(ctx context.Context) error {
	s.audit = auditLog{path: s.cluster.AuditLog(), user: "system:serviceaccount:" + home + ":" + account}
	if s.who.peer != "" {
		return s.installPeer(ctx)
	}
	path, err := harness.ShippedForAllNamespaces()
	if err != nil {
		return err
	}
	manifest, err := harness.ReadRendered(path)
	if err != nil {
		return err
	}
	s.installed, err = s.installIn(ctx, home, manifest)
	return err
}

func (s *stage) installIn(ctx context.Context, namespace string, manifest *harness.Manifest) (*harness.Installation, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ns, err := s.harness.ComingNamespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	return ns.Install(ctx, manifest, s.binary)
}

func (s *stage) installPeer(ctx context.Context) error {
	meta := metav1.ObjectMeta{Name: account, Namespace: home}
	if _, err := s.admin.CoreV1().ServiceAccounts(home).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make the account of the peer: %w", err)
	}
	if _, err := s.admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: account}},
	}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("give the peer its permissions: %w", err)
	}
	var err error
	if s.kubeconfig, err = s.cluster.ServiceAccountKubeconfig(ctx, home, account); err != nil {
		return err
	}
	s.log, err = os.Create(filepath.Join(s.folder, "peer.log"))
	return err
}

// start runs the controller and returns when it acts on changes.
func (s *stage) start(ctx context.Context, flags ...string) error {
	if err := s.launch(flags...); err != nil {
		return err
	}
	if s.ours != nil {
		return s.ours.AwaitReady(ctx)
	}
	return s.awaitActs(ctx)
}

// launch runs the controller and waits for nothing. The flags are for that of this repository.
func (s *stage) launch(flags ...string) (err error) {
	if s.who.peer == "" {
		if s.ours, err = s.installed.Launch(append(unbounded(), flags...), nil); err == nil {
			s.controller = s.ours
		}
		return err
	}
	p, err := launchPeer(s.who.peer, s.kubeconfig, s.log)
	if err == nil {
		s.controller = p
	}
	return err
}

// peer is another controller that runs.
type peer struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

func launchPeer(commandLine, kubeconfig string, log *os.File) (*peer, error) {
	// The shell gives its place to what the line names, so that the process is that of the
	// controller.
	p := &peer{cmd: exec.Command("sh", "-c", "exec "+commandLine), log: log.Name(), done: make(chan struct{})}
	p.cmd.Env = []string{"KUBECONFIG=" + kubeconfig}
	// Nothing else of this shell counts that its command line does not name: GOGC and the like are
	// settings, too.
	for _, name := range []string{"PATH", "HOME"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+os.Getenv(name))
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", commandLine, err)
	}
	go func() {
		_ = p.cmd.Wait() // Running tells
		close(p.done)
	}()
	return p, nil
}

// PID is the number of the process.
func (p *peer) PID() int { return p.cmd.Process.Pid }

// Running is nil while the process runs.
func (p *peer) Running() error {
	select {
	case <-p.done:
		text, _ := os.ReadFile(p.log) // what there is of it helps
		return fmt.Errorf("the peer has ended (%s); the end of its log:\n%s", p.cmd.ProcessState, text[max(0, len(text)-2000):])
	default:
		return nil
	}
}

// Stop asks it to end, and returns when it has. How it ends is its own affair.
func (p *peer) Stop(ctx context.Context) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the peer: %w", err)
	}
	const most = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
	}
	return nil
}

// Kill ends it without a warning, and returns when it is gone.
func (p *peer) Kill() {
	_ = p.cmd.Process.Kill() // that it has ended already is as good
	<-p.done
}

// probeEvery is how often a workload is given another content, until a controller shows that it
// acts: more seldom than a quiet period lasts.
const probeEvery = 2 * time.Second

// awaitActs changes one thing again and again until the controller rolls for it. Of a program that
// nothing else is known of, that alone tells that it has begun.
func (s *stage) awaitActs(ctx context.Context) error {
	s.prober.begin()
	return harness.Await(ctx, "the controller to act on a change", s.probe())
}

// probe changes the content and looks whether there was a rollout, each time it is called and
// enough time has passed.
func (s *stage) probe() func(context.Context) error {
	var last time.Time
	return func(ctx context.Context) error {
		if s.prober.seen().rollouts > 0 {
			return nil
		}
		if err := s.controller.Running(); err != nil {
			return err
		}
		if time.Since(last) >= probeEvery {
			last = time.Now()
			s.probed++
			if err := s.edit(ctx, probing, probing, s.probed); err != nil {
				return err
			}
		}
		return errors.New("it has not yet")
	}
}
