package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// SocketVariable is the environment variable that names the socket of a Lender.
const SocketVariable = "REROLL_CLUSTER_SOCKET"

// Lender starts one cluster for several processes, when the first of them asks for it.
type Lender struct {
	listener net.Listener
	cancel   context.CancelFunc // of a start
	started  func() (*Cluster, error)
	answers  sync.WaitGroup
	asked    bool
}

// lent is what a Lender answers.
type lent struct {
	Folder string `json:"folder,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Lend listens at a Unix socket. The cluster ends with Close, or with this process.
func Lend(ctx context.Context, socket string, opts Options) (*Lender, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("lend a cluster: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &Lender{listener: listener, cancel: cancel, started: sync.OnceValues(func() (*Cluster, error) { return Start(ctx, opts) })}
	l.answers.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // closed
			}
			l.asked = true
			l.answers.Go(func() { l.answer(conn) })
		}
	})
	return l, nil
}

func (l *Lender) answer(conn net.Conn) {
	defer conn.Close()
	var answer lent
	if c, err := l.started(); err != nil {
		answer.Error = err.Error()
	} else {
		answer.Folder = c.Dir()
	}
	_ = json.NewEncoder(conn).Encode(answer) // a process that has ended needs no answer
}

// Close ends the cluster if there is one, and returns the processor time that each component used.
// An error says which component has ended by itself.
func (l *Lender) Close() (used map[string]time.Duration, err error) {
	_ = l.listener.Close()
	l.cancel()
	l.answers.Wait()
	if !l.asked {
		return nil, nil
	}
	c, err := l.started()
	if err != nil {
		return nil, nil //nolint:nilerr // who asked was answered with it
	}
	err = errors.Join(c.Check(), c.Stop())
	used = map[string]time.Duration{}
	for _, p := range c.procs {
		used[p.name] += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return used, err
}

// Borrow returns the cluster of a Lender, on which tests of other packages run too: each test needs
// namespaces of its own, and changes nothing that belongs to the whole cluster. Stop leaves it
// running. Without a Lender, Borrow starts a cluster with these options.
func Borrow(ctx context.Context, opts Options) (*Cluster, error) {
	socket := os.Getenv(SocketVariable)
	if socket == "" {
		return Start(ctx, opts)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("borrow a cluster: %w", err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var answer lent
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return nil, fmt.Errorf("borrow a cluster: %w", errors.Join(context.Cause(ctx), err))
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("borrow a cluster: %s", answer.Error)
	}
	c := &Cluster{dir: &runDir{path: answer.Folder}, borrowed: true}
	c.admin, err = c.readAdmin()
	return c, err
}

func (c *Cluster) readAdmin() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of the cluster: %w", err)
	}
	// Nothing here is to be slowed by the client: a test that measures the API server would measure
	// the limiter.
	config.QPS = -1
	return config, nil
}
