package edges

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/harness"
)

// trackedManifest is what Argo CD manages, and beside it a Deployment that nobody does. That one
// waits for 2 s, as long as Argo CD does between two waves, so its reload tells that they are over.
const trackedManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {round: "0"}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {reloader.stakater.com/auto: "true", argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web"}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "web:0", envFrom: [{configMapRef: {name: web}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: two-seconds, annotations: {reloader.stakater.com/auto: "true", reroll.dev/settle: 2s}}
spec:
  selector: {matchLabels: {app: two-seconds}}
  template:
    metadata: {labels: {app: two-seconds}}
    spec: {containers: [{name: app, image: "web:0", envFrom: [{configMapRef: {name: web}}]}]}
`

func (p *place) ledger(workload harness.Ref) string {
	p.Helper()
	obj, err := p.ns.Get(p.ctx, workload)
	p.must(err)
	return obj.GetAnnotations()[annotations.Ledger]
}

// awaitAnotherLedger returns when the controller has compared a workload with its sources anew.
func (p *place) awaitAnotherLedger(workload harness.Ref, known string) {
	p.Helper()
	p.must(harness.Await(p.ctx, "another ledger of "+workload.String(), func(ctx context.Context) error {
		obj, err := p.ns.Get(ctx, workload)
		if err == nil && obj.GetAnnotations()[annotations.Ledger] == known {
			err = errors.New("it is the same")
		}
		return err
	}))
}

func (p *place) rolls(workload harness.Ref) int {
	p.Helper()
	n, err := p.ns.Rolls(p.ctx, workload)
	p.must(err)
	return n
}

func TestASyncInWavesIsOneRollout(t *testing.T) {
	p := install(t)
	p.start()
	p.must(p.ns.Apply(p.ctx, trackedManifest))
	passed := deploymentRef("two-seconds")
	p.adopted(p.ns, web)
	p.adopted(p.ns, passed)

	// The quiet period of what Argo CD manages, unless somebody says otherwise.
	const within = 5 * time.Second
	for round := 1; ; round++ {
		rollsBefore, ledger, waiting := p.rolls(web), p.ledger(web), p.ledger(passed)
		began := time.Now()
		p.must(p.ns.Edit(p.ctx, webConfig, fmt.Sprintf("round=%d", round)))
		p.awaitAnotherLedger(passed, waiting)
		release := strings.Split(trackedManifest, "---\n")[1]
		p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(release, "web:0", fmt.Sprintf("web:%d", round))))
		took := time.Since(began)

		p.awaitAnotherLedger(web, ledger)
		p.must(p.ns.AwaitReady(p.ctx, web))
		p.must(p.ns.AwaitFresh(p.ctx, web, webConfig))
		if took >= within {
			// This machine was too slow to write both within the quiet period. Then two are right.
			t.Logf("round %d: the second wave came after %s", round, took)
			continue
		}
		if got := p.rolls(web) - rollsBefore; got != 1 {
			t.Errorf("two waves, the second %s after the first, were %d rollouts\n%s", took, got, p.ns.Report(p.ctx))
		}
		return
	}
}

// pair is a ConfigMap and the Deployment that uses it, of one release.
func pair(i, release int) (configMap, deployment string) {
	configMap = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app-%d}\ndata: {release: \"%d\"}\n---\n", i, release)
	deployment = fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: app-%[1]d, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: app-%[1]d}}
  template:
    metadata: {labels: {app: app-%[1]d}}
    spec: {containers: [{name: app, image: "app:%[2]d", envFrom: [{configMapRef: {name: app-%[1]d}}]}]}
---
`, i, release)
	return configMap, deployment
}

func complete(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 1 && d.Status.UpdatedReplicas == 1 && d.Status.AvailableReplicas == 1
}

// decidedRolls returns how often each of the Deployments has rolled, when the controller has
// decided on everything.
func (p *place) decidedRolls(workloads int) []int {
	p.Helper()
	p.must(p.ns.Quiet(p.ctx))
	return p.allRolls(workloads)
}

func (p *place) allRolls(workloads int) []int {
	p.Helper()
	rolls := []int{p.rolls(deploymentRef("app-0"))} // all that led to the present state is seen then
	for i := 1; i < workloads; i++ {
		n, err := p.ns.Observer.Rollouts(deploymentRef(fmt.Sprintf("app-%d", i)))
		p.must(err)
		rolls = append(rolls, n)
	}
	return rolls
}

// starts keeps which pods are there, with which content each was made, by the versions of the API
// server.
type starts struct {
	mu      sync.Mutex
	lost    error
	changed map[string]start    // by ConfigMap
	pods    map[types.UID]start // and the workload that they are of
}

type start struct {
	app, release string
	version      uint64
}

func (p *place) watchStarts() *starts {
	p.Helper()
	s := &starts{changed: map[string]start{}, pods: map[types.UID]start{}}
	lost := func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lost = err
	}
	p.must(p.ns.EachVersion(p.ctx, s.see, lost, "pods", "configmaps"))
	return s
}

func (s *starts) see(v harness.Version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch obj := v.Object.(type) {
	case *corev1.ConfigMap:
		if release := obj.Data["release"]; s.changed[obj.Name].release != release {
			s.changed[obj.Name] = start{release: release, version: v.Number}
		}
	case *corev1.Pod:
		if _, known := s.pods[obj.UID]; !known {
			s.pods[obj.UID] = start{app: obj.Labels["app"], version: v.Number}
		}
		if v.Deleted {
			delete(s.pods, obj.UID)
		}
	}
}

// awaitFresh returns when each workload has a pod, and none from before its content.
func (p *place) awaitFresh(s *starts, workloads int, release string) {
	p.Helper()
	p.each("complete", workloads, complete)
	p.must(harness.Await(p.ctx, "all pods to be younger than what they are to run with", func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		fresh := map[string]bool{}
		for _, pod := range s.pods {
			content := s.changed[pod.app]
			if content.release == release && pod.version < content.version {
				return fmt.Errorf("a pod of %s was made in version %d, the content is of version %d", pod.app, pod.version, content.version)
			}
			if content.release == release {
				fresh[pod.app] = true
			}
		}
		if len(fresh) != workloads {
			return errors.Join(s.lost, fmt.Errorf("%d of %d workloads have a pod with the content of release %s", len(fresh), workloads, release))
		}
		return s.lost
	}))
}

func TestAHundredReleasedInOneGo(t *testing.T) {
	p := install(t)
	const workloads = 100
	p.start("--adopt-rate=1000")
	seen := p.watchStarts()

	// In the file each Deployment stands before its ConfigMap, and nothing of it is there yet.
	deploymentFirst := func(release int) string {
		var file strings.Builder
		for i := range workloads {
			configMap, deployment := pair(i, release)
			file.WriteString(deployment + configMap)
		}
		return file.String()
	}
	p.must(p.ns.Apply(p.ctx, deploymentFirst(1)))
	p.each("adopted", workloads, func(d *appsv1.Deployment) bool { return d.Annotations[annotations.Ledger] != "" })
	first := p.decidedRolls(workloads)
	for i, n := range first {
		if n != 0 {
			t.Errorf("app-%d: its first apply was %d rollouts", i, n)
		}
	}

	// The same file with another content and another image: pods of the new image may have started
	// with the old content.
	p.must(p.ns.Apply(p.ctx, deploymentFirst(2)))
	p.each("marked", workloads, func(d *appsv1.Deployment) bool { return len(d.Spec.Template.Spec.Containers[0].Env) == 1 })
	p.awaitFresh(seen, workloads, "2")
	second := p.decidedRolls(workloads)
	for i := range workloads {
		if n := second[i] - first[i]; n < 1 || n > 2 {
			t.Errorf("app-%d: a release of the Deployment and then the ConfigMap was %d rollouts", i, n)
		}
	}

	// The ConfigMap first: the pods of the new image have it, and that is all.
	ledgers, late := map[string]string{}, map[int]time.Duration{}
	list, err := p.Admin.AppsV1().Deployments(p.ns.Name).List(p.ctx, metav1.ListOptions{})
	p.must(err)
	for i := range list.Items {
		ledgers[list.Items[i].Name] = list.Items[i].Annotations[annotations.Ledger]
	}
	for i := range workloads {
		configMap, deployment := pair(i, 3)
		began := time.Now()
		p.must(p.ns.Apply(p.ctx, configMap+deployment))
		if took := time.Since(began); took >= time.Second {
			late[i] = took
		}
	}
	p.each("compared", workloads, func(d *appsv1.Deployment) bool { return d.Annotations[annotations.Ledger] != ledgers[d.Name] })
	p.awaitFresh(seen, workloads, "3")
	for i, n := range p.decidedRolls(workloads) {
		most := 1
		if late[i] > 0 {
			most = 2 // not within the quiet period, on a machine as slow as that
		}
		if n -= second[i]; n < 1 || n > most {
			t.Errorf("app-%d: a release of the ConfigMap and then the Deployment was %d rollouts, want 1", i, n)
		}
	}
	t.Logf("%d of %d were written within the quiet period", workloads-len(late), workloads)
}

func TestAdoptionDelaysNoLiveChange(t *testing.T) {
	p := install(t)
	const workloads = 100
	p.makeConfigMap("app", map[string]string{"colour": "green"})
	p.makeDeployments(workloads, func(i int) *appsv1.Deployment { return optedIn(fmt.Sprintf("app-%d", i), "app") })
	p.must(p.ns.Apply(p.ctx, shopManifest))
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.each("there with a first revision", workloads+1, func(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration > 0 })

	// At this rate it takes longer than the patience of this test until all have their first
	// ledger.
	p.start("--adopt-rate=0.05")
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=red"))
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
	p.must(p.ns.AwaitFresh(p.ctx, web, webConfig))
	if written := p.requested("patch", "deployments"); written >= workloads {
		t.Errorf("%d writes: nobody was waiting any more, so nothing was shown", written)
	}

	// A change of what those use that wait is one too, and takes their first ledger along.
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "app"}, "colour=red"))
	p.each("rolled", workloads, func(d *appsv1.Deployment) bool {
		return d.Name != web.Name && len(d.Spec.Template.Spec.Containers[0].Env) == 1
	})
	for i, n := range p.allRolls(workloads) {
		if n != 1 {
			t.Errorf("app-%d has rolled %d times", i, n)
		}
	}
}
