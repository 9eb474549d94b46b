package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// The namespaces that there are. Where the bare loop writes, no controller looks.
const (
	home    = "home" // of the controller
	work    = "work"
	twins   = "twins"
	probing = "probe"
)

// stage is a cluster with a controller, for one scenario.
type stage struct {
	*bench
	who     subject
	cluster *cluster.Cluster
	harness *harness.Harness
	admin   kubernetes.Interface
	// eyes see the workloads, and prober the one that tells whether the controller acts.
	eyes, prober *eyes
	probed       int

	audit     auditLog
	installed *harness.Installation
	// controller is the one that runs, and ours the same if it is not a peer.
	controller worker
	ours       *harness.Controller
	others     []worker // that a scenario has started beside it
	log        *os.File // of a peer
	kubeconfig string   // of a peer
}

func (b *bench) newStage(ctx context.Context, who subject, nodes int) (s *stage, err error) {
	s = &stage{bench: b, who: who}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if nodes == 0 {
		nodes = cluster.NoNodes
	}
	if s.cluster, err = cluster.Start(ctx, cluster.Options{
		Nodes: nodes, Progress: os.Stderr,
		// It is counted from one file to its end, which would be put away at 100 MB.
		APIServerFlags: []string{"--audit-log-maxsize=100000"},
	}); err != nil {
		return s, err
	}
	if s.harness, err = harness.New(s.cluster); err != nil {
		return s, err
	}
	if s.admin, err = kubernetes.NewForConfig(asController(s.cluster.Config())); err != nil {
		return s, err
	}
	for _, name := range []string{home, work, twins, probing} {
		if err := s.makeNamespace(ctx, name); err != nil {
			return s, err
		}
	}
	if s.eyes, err = open(ctx, s.admin, work); err != nil {
		return s, err
	}
	if s.prober, err = open(ctx, s.admin, probing); err != nil {
		return s, err
	}
	if err := s.makeProbe(ctx); err != nil {
		return s, err
	}
	return s, s.install(ctx)
}

// makeNamespace leaves the observer of the harness out, which sees more than is asked here and
// would be a load of its own.
func (s *stage) makeNamespace(ctx context.Context, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := s.harness.NamedNamespace(ctx, name)
	return err
}

// asController makes a configuration what the controller makes of its own: protobuf, and no limit
// at the client.
func asController(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.ContentType = apiruntime.ContentTypeProtobuf
	config.AcceptContentTypes = apiruntime.ContentTypeProtobuf + "," + apiruntime.ContentTypeJSON
	return config
}

// adopted waits until the controller knows every workload. Of a peer there is nothing to be seen
// but that it acts.
func (s *stage) adopted(ctx context.Context) error {
	if s.ours == nil {
		return nil
	}
	return s.eyes.await(ctx, "every workload to be adopted", func() bool {
		for _, d := range s.eyes.now {
			if d.Annotations[annotations.Ledger] == "" {
				return false
			}
		}
		return true
	})
}

// ready starts the controller when all that it has to look after is there, and returns when it
// knows that and Kubernetes has come to rest.
func (s *stage) ready(ctx context.Context, flags ...string) error {
	if err := s.awaitRollout(ctx, s.eyes, work); err != nil {
		return err
	}
	if err := s.start(ctx, flags...); err != nil {
		return err
	}
	if err := s.adopted(ctx); err != nil {
		return err
	}
	return s.awaitRollout(ctx, s.eyes, work)
}

// awaitRollout waits until Kubernetes has finished with every Deployment of a namespace: no old
// ReplicaSet is left.
func (s *stage) awaitRollout(ctx context.Context, e *eyes, namespace string) error {
	if err := e.awaitObserved(ctx); err != nil {
		return err
	}
	return harness.Await(ctx, "the old ReplicaSets to be gone", func(ctx context.Context) error {
		list, err := s.admin.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		left := len(list.Items)
		if list.RemainingItemCount != nil {
			left += int(*list.RemainingItemCount)
		}
		if running := e.unpaused(); left != running {
			return fmt.Errorf("there are %d, and %d workloads", left, running)
		}
		return nil
	})
}

func (s *stage) close() error {
	for _, c := range append(s.others, s.controller) {
		if c != nil {
			c.Kill()
		}
	}
	var err error
	if s.log != nil {
		err = s.log.Close()
	}
	if s.cluster != nil {
		err = errors.Join(err, s.cluster.Stop())
	}
	return err
}
