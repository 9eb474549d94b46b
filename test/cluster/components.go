package cluster

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// startComponents starts everything, each as soon as what it needs is there.
func (c *Cluster) startComponents(ctx context.Context, tools Tools, opts Options) error {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	etcd, err := c.startEtcd(tools)
	if err != nil {
		return err
	}
	images := c.buildImages(ctx, opts)
	flags, err := c.realNodeFlags(opts.RealNodes)
	if err != nil {
		return err
	}
	api, err := c.startAPIServer(tools, append(flags, opts.APIServerFlags...))
	if err != nil {
		return err
	}
	// etcd has no check of its own: the API server is not ready before it has reached it, and says
	// so in its log. But if etcd ended, that is the fault to name.
	if err := api.await(ctx, func(ctx context.Context) error {
		if err := etcd.ended(); err != nil {
			return permanent{err}
		}
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}

	manager, err := c.startControllerManager(tools)
	if err != nil {
		return err
	}
	scheduler, err := c.startScheduler(tools)
	if err != nil {
		return err
	}
	nodes, err := c.startNodes(ctx, client, tools, opts, images)
	if err != nil {
		return err
	}
	if err := scheduler.await(ctx, c.healthy(scheduler)); err != nil {
		return err
	}
	if err := manager.await(ctx, func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	return nodes.await(ctx, func(ctx context.Context) error { return nodesReady(ctx, client, opts.RealNodes) })
}

// startNodes returns the process that makes the nodes Ready.
func (c *Cluster) startNodes(ctx context.Context, client kubernetes.Interface, tools Tools, opts Options, images <-chan built) (*process, error) {
	if opts.RealNodes > 0 {
		return c.startRealNodes(ctx, tools, opts, images)
	}
	kwok, err := c.startKwok(tools, opts.Stages)
	if err != nil {
		return nil, err
	}
	return kwok, c.makeNodes(ctx, client, opts.Nodes)
}

func (c *Cluster) run(name, binary string, args ...string) (*process, error) {
	return c.runWith(name, nil, binary, args...)
}

// runWith adds to the environment.
func (c *Cluster) runWith(name string, env []string, binary string, args ...string) (*process, error) {
	if c.borrowed {
		return nil, fmt.Errorf("start %s: other packages use this cluster too: start one of your own", name)
	}
	p, err := startProcess(name, c.path(name+".log"), env, binary, args...)
	if err == nil {
		c.procs = append(c.procs, p)
	}
	return p, err
}

// etcd listens on Unix sockets: no port that another could take, and nobody else on the machine can
// reach it.
func (c *Cluster) startEtcd(tools Tools) (*process, error) {
	return c.run("etcd", tools.Etcd,
		"--data-dir="+c.path("etcd"),
		"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=unix://peer:0",
		"--unsafe-no-fsync",
		"--log-level=warn")
}

// etcd insists on the form of a host and a port; both together name a socket in the working folder.
const etcdURL = "unix://etcd:0"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

func (c *Cluster) startAPIServer(tools Tools, flags []string) (*process, error) {
	policy, err := c.writeFile("audit-policy.yaml", auditPolicy)
	if err != nil {
		return nil, err
	}
	args := []string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--tls-cert-file=" + c.path(servingCert), "--tls-private-key-file=" + c.path(servingKey),
		"--client-ca-file=" + c.path(caFile),
		"--authorization-mode=Node,RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.path(accountKeyFile),
		"--service-account-signing-key-file=" + c.path(accountKeyFile),
		"--service-cluster-ip-range=" + serviceRange,
		"--audit-policy-file=" + policy, "--audit-log-path=" + c.AuditLog(),
		// In MB. Tests read the whole log, and by default, a second file begins after 100 MB.
		"--audit-log-maxsize=100000",
		// All scenarios of a run watch through one connection. At the default, 100, the server may count a
		// stream that has just ended, and answers the next request with a protocol error.
		"--http2-max-streams-per-connection=1000",
		// The endpoint of the API server itself is of no use to anybody on loopback.
		"--endpoint-reconciler-type=none",
	}
	return c.run("kube-apiserver", tools.APIServer, append(args, flags...)...)
}

func (c *Cluster) startControllerManager(tools Tools) (*process, error) {
	return c.run("kube-controller-manager", tools.ControllerManager,
		"--kubeconfig="+c.path(managerKubeconfig),
		// Each controller under its own account, as in a real installation: the audit log tells
		// them apart.
		"--use-service-account-credentials",
		"--service-account-private-key-file="+c.path(accountKeyFile),
		"--root-ca-file="+c.path(caFile),
		"--leader-elect=false",
		"--secure-port=0",
		// The defaults are for clusters that share an API server; here they would make a fan-out
		// wait.
		"--kube-api-qps=1000", "--kube-api-burst=1000",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20")
}

func (c *Cluster) startScheduler(tools Tools) (*process, error) {
	port, err := c.ports.take(0)
	if err != nil {
		return nil, err
	}
	p, err := c.run("kube-scheduler", tools.Scheduler,
		"--kubeconfig="+c.path(schedulerKubeconfig),
		"--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(port),
		"--cert-dir="+c.path("scheduler-certs"),
		"--kube-api-qps=1000", "--kube-api-burst=1000")
	if err == nil {
		p.health = "https://127.0.0.1:" + strconv.Itoa(port) + "/healthz" // readyz came with 1.31
	}
	return p, err
}

//go:embed stages.yaml
var defaultStages string

func (c *Cluster) startKwok(tools Tools, stages string) (*process, error) {
	path, err := c.writeFile("stages.yaml", cmp.Or(stages, defaultStages))
	if err != nil {
		return nil, err
	}
	return c.run("kwok", tools.Kwok,
		"--kubeconfig="+c.path(kwokKubeconfig),
		"--config="+path,
		"--manage-all-nodes",
		// Nodes whose lease is not renewed would be NotReady after 50 s, and their pods evicted.
		"--node-lease-duration-seconds=40")
}

func (c *Cluster) makeNodes(ctx context.Context, client kubernetes.Interface, nodes int) error {
	if nodes == 0 {
		nodes = defaultNodes
	}
	for i := range max(nodes, 0) {
		name := "node-" + strconv.Itoa(i+1)
		_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
		}}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make node %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady is given how many nodes register by themselves.
func nodesReady(ctx context.Context, client kubernetes.Interface, registering int) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) < registering {
		return fmt.Errorf("%d of %d nodes have registered", len(list.Items), registering)
	}
	for i := range list.Items {
		node := &list.Items[i]
		ready := false
		for _, cond := range node.Status.Conditions {
			ready = ready || cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue
		}
		if !ready || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("node %s is not Ready yet", node.Name)
		}
	}
	return nil
}

// healthy asks a component's own endpoint, whose certificate it made itself.
func (c *Cluster) healthy(p *process) func(context.Context) error {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: insecureLoopback(), DisableKeepAlives: true}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.health, nil) //nolint:gosec // a port of loopback that was chosen here
		if err != nil {
			return err
		}
		resp, err := client.Do(req) //nolint:gosec // as above
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", p.health, resp.Status)
		}
		return nil
	}
}

const pollEvery = 20 * time.Millisecond
