package edges

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/test/harness"
)

func deploymentRef(name string) harness.Ref { return harness.Ref{Kind: "deployment", Name: name} }

func (p *place) makeDeployment(d *appsv1.Deployment) {
	p.Helper()
	p.makeDeployments(1, func(int) *appsv1.Deployment { return d })
}

func withPods(d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Replicas = nil
	return d
}

// heap is what the controller's memory manager has given out.
func (p *place) heap(ctx context.Context, c *harness.Controller) (float64, error) {
	r, err := c.Metric(ctx, "go_memstats_heap_alloc_bytes", nil)
	return r.Sum, err
}

func TestSourcesAsLargeAsTheyCome(t *testing.T) {
	p := install(t)
	const (
		sources = 32
		mebi    = 1 << 20
		// The key counts too.
		size = mebi - len("v")
	)
	// Collected often, so that what is not needed any more is soon gone.
	c := p.start("GOGC=20")
	p.must(p.ns.Quiet(p.ctx))
	before, err := p.heap(p.ctx, c)
	p.must(err)

	content := strings.Repeat("x", size)
	p.make(sources, func(ctx context.Context, i int) error {
		_, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: map[string]string{"v": content},
		}, metav1.CreateOptions{})
		return err
	})
	web := optedIn("web", "large-0")
	web.Annotations["configmap.reloader.stakater.com/reload"] = "large-.*"
	p.makeDeployment(withPods(web))
	p.adopted(p.ns, deploymentRef("web"))

	// Another last byte is a change like any other.
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "large-0"}, "v="+content[:size-1]+"y"))
	p.must(p.ns.AwaitRolls(p.ctx, deploymentRef("web"), 1))
	p.rolled(p.ns, deploymentRef("web"), 1)

	most := before + sources*mebi/4
	p.must(harness.Await(p.ctx, "the controller to have forgotten what the sources hold", func(ctx context.Context) error {
		now, err := p.heap(ctx, c)
		if err == nil && now > most {
			return fmt.Errorf("it holds %.1f MiB, of %.1f before there were %d MiB of sources", now/mebi, before/mebi, sources)
		}
		return err
	}))
}

func TestFiveThousandSourcesOfOneWorkload(t *testing.T) {
	p := install(t)
	const sources = 5000
	p.make(sources, func(ctx context.Context, i int) error {
		_, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("part-%d", i)}, Data: map[string]string{"v": "1"},
		}, metav1.CreateOptions{})
		return err
	})
	c := p.start()
	all := optedIn("all", "none")
	all.Annotations = map[string]string{"configmap.reloader.stakater.com/reload": "part-[0-9]+"}
	p.makeDeployment(withPods(all))
	ref := deploymentRef("all")
	p.adopted(p.ns, ref)
	p.rolled(p.ns, ref, 0)

	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "part-2718"}, "v=2"))
	p.must(p.ns.AwaitRolls(p.ctx, ref, 1))
	p.must(p.ns.AwaitFresh(p.ctx, ref, harness.Ref{Kind: "configmap", Name: "part-2718"}))
	p.rolled(p.ns, ref, 1)

	d, err := p.Admin.AppsV1().Deployments(p.ns.Name).Get(p.ctx, "all", metav1.GetOptions{})
	p.must(err)
	text := d.Annotations[annotations.Ledger]
	if len(text) > 16<<10 {
		t.Errorf("the ledger is %d bytes long", len(text))
	}
	ledger, err := ledger.Parse(text)
	if err != nil || len(ledger.Entries) != 0 || len(ledger.Aggregates) != 1 {
		t.Errorf("the ledger is not one digest for all: %.300s, %v", text, err)
	}
	if env := d.Spec.Template.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "STAKATER_PART_2718_CONFIGMAP" {
		t.Errorf("one edit has left %d variables: %.300v", len(env), env)
	}

	// Who has only that digest to go by finds nothing to do.
	p.must(c.Stop(p.ctx))
	p.start()
	p.rolled(p.ns, ref, 1)
}
