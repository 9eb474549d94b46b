package node_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// Each is a workload whose container prints the data of its ConfigMap, and which Pod Security
// allows under "restricted".
const restrictedApp = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME}
data: {text: "0"}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  annotations: {reloader.stakater.com/auto: "true"}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      terminationGracePeriodSeconds: 1
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: app
        image: localhost/reroll-test-app:1
        args: [serve]
        readinessProbe: {httpGet: {path: /readyz, port: 8080}, periodSeconds: 1}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        env:
        - name: TEXT
          valueFrom: {configMapKeyRef: {name: NAME, key: text}}
`

// The last edit of the first one comes just before the leader ends, that of the second when it is
// ending or gone, and that of the third after there is another.
func restrictedApps() []string { return []string{"before", "during", "after"} }

// ofReroll selects the Pods of Reroll.
const ofReroll = "app.kubernetes.io/instance=reroll"

// installed is Reroll as its chart installs it, in a namespace with Pod Security "restricted".
type installed struct {
	*place
	values []string
}

// TestNoChangeIsLostWhenRerollEnds ends replicas of Reroll in each way that a cluster does, while
// data changes. Whatever happens, a process reads the last data of each source.
func TestNoChangeIsLostWhenRerollEnds(t *testing.T) {
	t.Parallel()
	for name, replicas := range map[string]int{"one replica": 1, "two replicas": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := installInto(t, replicas)
			for _, end := range []struct {
				how string
				end func()
			}{
				{"killed", func() { p.kill(p.leader()) }},
				{"all killed", func() { p.kill(p.pods()...) }},
				{"evicted", p.evict},
				{"deleted", func() { p.kubectl("delete", "pod", p.leader().Name) }},
				{"drained", p.drain},
				{"upgraded", func() {
					p.values = append(p.values, "reloader.logFormat=json")
					p.helm("upgrade", rerollTags()[1])
				}},
			} {
				p.changeWhile(end.how, end.end)
			}
			for _, pod := range p.pods() {
				p.mustBe("the image after the upgrade", pod.Spec.Containers[0].Image, rerollImage+":"+rerollTags()[1])
				if version := p.kubectl("exec", pod.Name, "--", "/reroll", "version"); !strings.Contains(version, nextVersion) {
					t.Errorf("the program after the upgrade is %q, want version %s", version, nextVersion)
				}
				if first, _, _ := strings.Cut(p.kubectl("logs", pod.Name), "\n"); !strings.HasPrefix(first, "{") {
					t.Errorf("the log after the upgrade is not in JSON: %s", first)
				}
			}
		})
	}
}

func installInto(t *testing.T, replicas int) *installed {
	t.Helper()
	p := &installed{place: newPlace(t)}
	t.Cleanup(func() {
		if t.Failed() {
			p.ctx = context.Background()
			logs, err := p.tryKubectl("", "logs", "--selector="+ofReroll, "--prefix", "--tail=40")
			t.Log(logs, err)
		}
	})
	p.kubectl("label", "namespace", p.Name, "pod-security.kubernetes.io/enforce=restricted")
	if out, err := p.tryKubectl("", "run", "refused", "--image=localhost/reroll-test-app:1"); err == nil || !strings.Contains(err.Error(), "violates PodSecurity") {
		t.Fatalf("a Pod that is not restricted was admitted: %s %v", out, err)
	}
	p.values = []string{
		"image.repository=" + rerollImage, "image.pullPolicy=Never",
		// Each workload is edited more often here than the default allows.
		"reloader.watchGlobally=false", "reloader.churn=off",
		"reloader.deployment.replicas=" + strconv.Itoa(replicas),
	}
	if replicas > 1 {
		p.values = append(p.values, "reloader.enableHA=true", "reloader.podDisruptionBudget.enabled=true")
	}
	for _, name := range restrictedApps() {
		p.apply(strings.ReplaceAll(restrictedApp, "NAME", name))
	}
	p.helm("install", rerollTags()[0])
	for _, name := range restrictedApps() {
		p.must(p.AwaitReady(p.ctx, deployment(name)))
		p.awaitLedger(name)
	}
	return p
}

// helm installs or upgrades Reroll, and waits until it is ready. The name of the release is that of
// the namespace.
func (p *installed) helm(verb, tag string) {
	p.t.Helper()
	args := []string{verb, "reroll", filepath.Join("..", "..", "charts", "reroll"), "--namespace=" + p.Name, "--wait", "--timeout=5m", "--set=image.tag=" + tag}
	for _, value := range p.values {
		args = append(args, "--set="+value)
	}
	p.runHelm(args...)
}

func (p *installed) runHelm(args ...string) {
	p.t.Helper()
	cmd := exec.CommandContext(p.ctx, shared.clients.Helm4, args...)
	home := p.t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+shared.cluster.Kubeconfig(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("helm %s: %v\n%s", args[0], err, out)
	}
}

// pods are those of Reroll that run.
func (p *installed) pods() []corev1.Pod {
	p.t.Helper()
	pods, err := p.running(p.ctx)
	p.must(err)
	return pods
}

func (p *installed) running(ctx context.Context) ([]corev1.Pod, error) {
	list, err := shared.admin.CoreV1().Pods(p.Name).List(ctx, metav1.ListOptions{LabelSelector: ofReroll})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.DeletionTimestamp != nil || len(pod.Status.ContainerStatuses) != 1 || pod.Status.ContainerStatuses[0].State.Running == nil
	}), nil
}

// leader is the Pod that holds the Lease.
func (p *installed) leader() corev1.Pod {
	p.t.Helper()
	return p.nextLeader(corev1.Pod{})
}

// nextLeader is the Pod that holds the Lease after another container held it. The kubelet keeps the
// name of a Pod whose container it starts again.
func (p *installed) nextLeader(old corev1.Pod) (leader corev1.Pod) {
	p.t.Helper()
	p.must(harness.Await(p.ctx, "a leader", func(ctx context.Context) error {
		lease, err := shared.admin.CoordinationV1().Leases(p.Name).Get(ctx, "stakater-reloader-lock", metav1.GetOptions{})
		if err != nil {
			return err
		}
		running, err := p.running(ctx)
		if err != nil {
			return err
		}
		for _, pod := range running {
			holds := lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == pod.Name &&
				lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(pod.Status.ContainerStatuses[0].State.Running.StartedAt.Time)
			if holds && containerOf(pod) != containerOf(old) {
				leader = pod
				return nil
			}
		}
		return fmt.Errorf("no running Pod holds it: %+v", lease.Spec)
	}))
	return leader
}

// containerOf is the ID of its only container, by which its control groups are named.
func containerOf(pod corev1.Pod) string {
	if len(pod.Status.ContainerStatuses) == 0 {
		return ""
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	return id
}

// evict asks again as long as a PodDisruptionBudget refuses.
func (p *installed) evict() {
	p.t.Helper()
	pod := p.leader().Name
	p.must(harness.Await(p.ctx, "the eviction of "+pod, func(ctx context.Context) error {
		return shared.admin.PolicyV1().Evictions(p.Name).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: p.Name}})
	}))
}

// drain empties the node of the leader, but of the Pods of other tests.
func (p *installed) drain() {
	p.t.Helper()
	node := p.leader().Spec.NodeName
	p.kubectl("label", "pods", "--selector="+ofReroll, "drained="+p.Name)
	defer p.kubectl("uncordon", node)
	p.kubectl("drain", node, "--pod-selector=drained="+p.Name, "--timeout=5m")
}

// changeWhile edits all sources while Reroll ends, and returns when processes have read the last
// data of each.
func (p *installed) changeWhile(how string, end func()) {
	p.t.Helper()
	began, old := time.Now(), p.leader()
	writers := map[string]*writer{}
	for _, name := range restrictedApps() {
		writers[name] = p.startWriter(name, how)
	}
	pause(p.ctx, 2*longestGap)
	writers["before"].stop()

	ended, watch := context.WithCancel(p.ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		_ = harness.Await(ended, "the end of "+old.Name, func(ctx context.Context) error { return p.isEnding(ctx, old) })
		writers["during"].stop()
	})
	end()
	watch()
	watching.Wait()

	p.kubectl("rollout", "status", "deployment/"+p.deployment(), "--timeout=5m")
	p.nextLeader(old)
	writers["after"].stop()
	for name, w := range writers {
		p.must(w.failed)
		p.must(harness.Await(p.ctx, "the processes of "+name+" to have read "+w.last, func(context.Context) error { return p.allRead(name, w.last) }))
	}
	p.t.Logf("%s: %s", how, time.Since(began).Round(time.Millisecond))
}

// writer edits a source again and again.
type writer struct {
	// stop ends it after one more edit, which is the last when stop returns.
	stop   func()
	last   string
	failed error
}

func (p *installed) startWriter(name, how string) *writer {
	running, end := context.WithCancel(p.ctx)
	w := &writer{}
	var work sync.WaitGroup
	work.Go(func() {
		for i := 1; ; i++ {
			going := pause(running, longestGap)
			w.last = fmt.Sprintf("%s-%d", strings.ReplaceAll(how, " ", "-"), i)
			w.failed = p.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: name}, "text="+w.last)
			if w.failed != nil || !going {
				return
			}
		}
	})
	w.stop = func() {
		end()
		work.Wait()
	}
	p.t.Cleanup(w.stop)
	return w
}

// isEnding is nil if the Pod is deleted or about to be.
func (p *installed) isEnding(ctx context.Context, pod corev1.Pod) error {
	now, err := shared.admin.CoreV1().Pods(p.Name).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && now.DeletionTimestamp != nil:
		return nil
	case err != nil:
		return err
	}
	return errors.New("it runs")
}

// deployment is the name that the chart gives to that of Reroll.
func (p *installed) deployment() string {
	p.t.Helper()
	return strings.TrimSpace(p.kubectl("get", "deployments", "--selector="+ofReroll, "--output=jsonpath={.items[0].metadata.name}"))
}

// allRead is nil if each process of a Deployment has printed this value at its start.
func (p *installed) allRead(name, value string) error {
	pods := p.podsOf(name)
	if len(pods) != 1 {
		return fmt.Errorf("there are %d Pods", len(pods))
	}
	printed, err := shared.admin.CoreV1().Pods(p.Name).GetLogs(pods[0].Name, &corev1.PodLogOptions{}).DoRaw(p.ctx)
	if err != nil {
		return err
	}
	if !strings.Contains(string(printed), "env TEXT="+value+"\n") {
		return fmt.Errorf("the process of %s has printed:\n%s", pods[0].Name, printed)
	}
	return nil
}
