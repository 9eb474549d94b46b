package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Pods are those of an installed controller. Each runs on this machine, as the pod says and with
// the permissions of its ServiceAccount, from when it has a node until it is deleted. kwok says in
// its status that it is ready, whatever becomes of the process: who wants to know asks the process.
type Pods struct {
	n      *Namespace
	ctx    context.Context
	binary string

	mu      sync.Mutex
	err     error
	runs    map[string]*Controller
	stopped []*Controller
}

// RunPods begins to run the pods of this namespace with these labels, until the context ends.
func (n *Namespace) RunPods(ctx context.Context, labels, binary string) (*Pods, error) {
	p := &Pods{n: n, ctx: ctx, binary: binary, runs: map[string]*Controller{}}
	pods := n.clients.typed.CoreV1().Pods(n.Name)
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = labels
			return pods.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.LabelSelector = labels
			return pods.Watch(ctx, opts)
		},
	}
	return p, follow(ctx, lw, p.see, p.fail)
}

func (p *Pods) see(c change) error {
	pod, ok := c.object.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("a watch of pods delivers %T", c.object)
	}
	p.mu.Lock()
	run := p.runs[pod.Name]
	p.mu.Unlock()
	gone := c.deleted || pod.DeletionTimestamp != nil
	switch {
	case run == nil && !gone && pod.Spec.NodeName != "":
		return p.start(pod)
	case run != nil && gone:
		p.mu.Lock()
		delete(p.runs, pod.Name)
		p.stopped = append(p.stopped, run)
		p.mu.Unlock()
		if len(run.Log.Lines()) == 0 {
			run.Kill() // it cannot hear yet that it is to end
			return nil
		}
		return run.Stop(p.ctx)
	}
	return nil
}

func (p *Pods) start(pod *corev1.Pod) error {
	args, env, err := commandOf(&pod.Spec.Containers[0], p.n.Name, pod.Name)
	if err != nil {
		return fmt.Errorf("run pod %s: %w", pod.Name, err)
	}
	kubeconfig, err := p.n.cluster.ServiceAccountKubeconfig(p.ctx, p.n.Name, pod.Spec.ServiceAccountName)
	if err != nil {
		return fmt.Errorf("run pod %s: %w", pod.Name, err)
	}
	run := &Controller{Log: &Log{}}
	// All share one machine, so none can have the port that each would have in its pod.
	args = append(args, "--listen-address=127.0.0.1:0", "--log-format=json")
	if run.proc, err = startProcess(p.binary, args, append(env, "KUBECONFIG="+kubeconfig, RaceDetector), run.Log); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[pod.Name] = run
	return nil
}

func (p *Pods) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(p.err, err)
}

// AwaitReady returns the processes by the names of their pods, when there are so many and each says
// that it is ready.
func (p *Pods) AwaitReady(ctx context.Context, wanted int) (map[string]*Controller, error) {
	ready := map[string]*Controller{}
	err := Await(ctx, fmt.Sprintf("%d pods of the controller to be ready", wanted), func(ctx context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.err != nil {
			return final{p.err}
		}
		clear(ready)
		for name, run := range p.runs {
			if err := run.find(); err != nil {
				return fmt.Errorf("pod %s: %w", name, err)
			}
			if _, err := run.get(ctx, "/readyz"); err != nil {
				return fmt.Errorf("pod %s: %w", name, err)
			}
			ready[name] = run
		}
		if len(ready) != wanted {
			return fmt.Errorf("there are %d", len(ready))
		}
		return nil
	})
	return ready, err
}

// End kills all of them, and says what went wrong with any.
func (p *Pods) End() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := []error{p.err}
	for _, run := range p.runs {
		p.stopped = append(p.stopped, run)
	}
	for _, run := range slices.Clone(p.stopped) {
		run.Kill()
		errs = append(errs, run.Sound())
	}
	return errors.Join(errs...)
}
