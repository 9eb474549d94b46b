package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// account is the ServiceAccount of the manifest that is shipped.
const account = "reroll-reroll"

// flags are what the controller is run with beyond what is shipped. The quiet period would be the larger part of every
// time; and 1,000 first ledgers at 20 a second take a minute in which nothing is measured.
func flags() []string { return []string{"--settle=0", "--adopt-rate=10000"} }

// stage is a cluster with the controller running on it, and with all that the scenarios use.
type stage struct {
	opts    options
	cluster *cluster.Cluster
	harness *harness.Harness
	admin   kubernetes.Interface
	binary  string
	folder  string
	server  string

	namespace  *harness.Namespace // where the controller works
	installed  *harness.Installation
	controller *harness.Controller
	eyes       *eyes
	audit      auditLog

	bare *bare

	// empty is a controller that has nothing to look after.
	empty      *harness.Controller
	emptyAudit auditLog
}

func newStage(ctx context.Context, opts options) (s *stage, err error) {
	s = &stage{opts: opts}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "reroll-bench-"); err != nil {
		return s, err
	}
	s.tell("building the controller, starting a cluster")
	if s.binary, err = harness.Build(ctx, s.folder, false); err != nil {
		return s, err
	}
	// Without nodes and replicas nothing is measured but the controller, and what Kubernetes does about any new
	// pod template.
	if s.cluster, err = cluster.Start(ctx, cluster.Options{Nodes: cluster.NoNodes, Progress: os.Stderr}); err != nil {
		return s, err
	}
	if s.harness, err = harness.New(s.cluster); err != nil {
		return s, err
	}
	if s.admin, err = kubernetes.NewForConfig(asController(s.cluster.Config())); err != nil {
		return s, err
	}
	version, err := s.admin.Discovery().ServerVersion()
	if err != nil {
		return s, fmt.Errorf("ask the API server for its version: %w", err)
	}
	s.server = version.GitVersion
	if err := s.startFull(ctx); err != nil {
		return s, err
	}
	return s, s.addBare(ctx)
}

// asController makes a configuration what the controller makes of its own: protobuf, and no limit at the client.
func asController(config *rest.Config) *rest.Config {
	config.QPS = -1
	config.ContentType = apiruntime.ContentTypeProtobuf
	config.AcceptContentTypes = apiruntime.ContentTypeProtobuf + "," + apiruntime.ContentTypeJSON
	return config
}

// install makes a namespace with the controller's account and rights.
func (s *stage) install(ctx context.Context, name string) (*harness.Namespace, *harness.Installation, error) {
	path, err := harness.ShippedManifest()
	if err != nil {
		return nil, nil, err
	}
	manifest, err := harness.ReadManifest(path)
	if err != nil {
		return nil, nil, err
	}
	// The observer of the harness sees more than is asked here, and would be a load of its own. It ends with this.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ns, err := s.harness.EmptyNamespace(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	installed, err := ns.Install(ctx, manifest, s.binary)
	return ns, installed, err
}

// auditOf counts the requests of the controller of a namespace.
func (s *stage) auditOf(namespace string) auditLog {
	return auditLog{path: s.cluster.AuditLog(), user: "system:serviceaccount:" + namespace + ":" + account}
}

// startFull runs the controller that is measured, and gives it workloads, which it has adopted when this returns.
func (s *stage) startFull(ctx context.Context) (err error) {
	if s.namespace, s.installed, err = s.install(ctx, "bench"); err != nil {
		return err
	}
	s.audit = s.auditOf(s.namespace.Name)
	if s.eyes, err = open(ctx, s.admin, s.namespace.Name); err != nil {
		return err
	}
	s.tell("making %d workloads and %d ConfigMaps", len(s.names()), s.opts.edits+1)
	if err := s.makeObjects(ctx, s.namespace.Name); err != nil {
		return err
	}
	if s.controller, err = s.installed.Start(ctx, flags(), nil); err != nil {
		return err
	}
	err = s.eyes.await(ctx, "every workload to be adopted", func() bool {
		adopted := 0
		for _, d := range s.eyes.now {
			if d.Annotations[reload.LedgerAnnotation] != "" {
				adopted++
			}
		}
		return adopted == len(s.names())
	})
	if err != nil {
		return err
	}
	return s.awaitRest(ctx, s.eyes, s.namespace.Name)
}

// addBare makes the twins, and a client of the same rights and settings as the controller's.
func (s *stage) addBare(ctx context.Context) error {
	ns, _, err := s.install(ctx, "bare")
	if err != nil {
		return err
	}
	path, err := s.cluster.ServiceAccountKubeconfig(ctx, ns.Name, account)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of the bare writers: %w", err)
	}
	client, err := kubernetes.NewForConfig(asController(config))
	if err != nil {
		return err
	}
	twins, err := open(ctx, s.admin, ns.Name)
	if err != nil {
		return err
	}
	s.bare = &bare{
		client: controller.Client{Interface: client}, kind: kinds.All()[0],
		namespace: ns.Name, twins: twins, originals: s.eyes,
	}
	if err := s.makeObjects(ctx, ns.Name); err != nil {
		return err
	}
	return s.awaitRest(ctx, twins, ns.Name)
}

// awaitRest waits until Kubernetes has finished with every Deployment of a namespace: no old ReplicaSet is left.
func (s *stage) awaitRest(ctx context.Context, e *eyes, namespace string) error {
	err := e.await(ctx, "the watch to deliver every workload", func() bool { return len(e.now) == len(s.names()) })
	if err != nil {
		return err
	}
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
		if left != len(s.names()) {
			return fmt.Errorf("there are %d, and %d workloads", left, len(s.names()))
		}
		return nil
	})
}

func (s *stage) close() error {
	for _, c := range []*harness.Controller{s.controller, s.empty} {
		if c != nil {
			c.Kill()
		}
	}
	var err error
	if s.cluster != nil {
		err = s.cluster.Stop()
	}
	return errors.Join(err, os.RemoveAll(s.folder))
}

// tell says what takes a while. The table alone goes to the standard output.
func (s *stage) tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func (s *stage) facts() []string {
	load, _ := os.ReadFile("/proc/loadavg") // one more fact, where it is to be had
	average, _, _ := strings.Cut(string(load), " ")
	return []string{
		fmt.Sprintf("%d CPUs, load %s before the first scenario, %s, %s/%s", runtime.NumCPU(), average, runtime.Version(), runtime.GOOS, runtime.GOARCH),
		fmt.Sprintf("Kubernetes %s, all of it on this machine, no nodes, 0 replicas, etcd without fsync", s.server),
		fmt.Sprintf("%s %s, for one namespace, with the rights of %s", filepath.Base(s.binary), strings.Join(flags(), " "), "deploy/reroll-namespaced.yaml"),
		fmt.Sprintf("medians of %d runs, in brackets the least and the most", s.opts.runs),
	}
}
