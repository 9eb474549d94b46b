package edges

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/harness"
)

// told returns when so many events of a reason were published about a Deployment.
func (p *place) told(name, reason string, times int) {
	p.Helper()
	p.must(harness.Await(p.ctx, fmt.Sprintf("%d events %s about %s", times, reason, name), func(ctx context.Context) error {
		events, err := p.ns.Events(ctx, deploymentRef(name))
		if err != nil {
			return err
		}
		seen := 0
		for i := range events {
			if events[i].Reason == reason {
				seen += harness.Times(&events[i])
			}
		}
		if seen != times {
			return fmt.Errorf("there are %d", seen)
		}
		return nil
	}))
}

// podLists counts those of one Deployment, by its selector.
func (p *place) podLists(name string) int { return p.selected("app", name) }

// selected counts the lists of pods by a label.
func (p *place) selected(label, value string) int {
	p.Helper()
	return len(slices.DeleteFunc(p.requests(), func(r harness.Request) bool {
		return r.Verb != "list" || r.ObjectRef.Resource != "pods" || !strings.Contains(r.RequestURI, label+"%3D"+value)
	}))
}

func TestPodsAreReadOnceForEachReloadAndNeverWatched(t *testing.T) {
	p := install(t)
	names := []string{"web", "api", "none", "still"}
	for _, name := range names {
		p.makeConfigMap(name, map[string]string{"v": "1"})
		d := optedIn(name, name)
		if name != "none" {
			withPods(d)
		}
		p.makeDeployment(d)
	}
	for _, name := range names {
		p.must(p.ns.AwaitReady(p.ctx, deploymentRef(name)))
	}
	p.start()
	for _, name := range names {
		p.adopted(p.ns, deploymentRef(name))
	}
	if asked := p.requested("list", "pods"); asked != 0 {
		t.Errorf("pods were listed %d times before anything was reloaded", asked)
	}

	for i, name := range []string{"web", "api", "none", "web"} {
		p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: name}, fmt.Sprintf("v=%d", i+2)))
		end := "Rolled"
		if name == "none" {
			end = "Reloaded" // without pods there is no more to tell
		}
		p.told(name, end, 1+i/3)
	}
	// What the status says afterwards is no reason to ask.
	p.must(p.ns.Scale(p.ctx, deploymentRef("web"), 5))
	p.must(p.ns.AwaitReady(p.ctx, deploymentRef("web")))
	p.must(p.ns.WriteStatus(p.ctx, deploymentRef("api"), "Again"))
	p.must(p.ns.Quiet(p.ctx))
	for name, want := range map[string]int{"web": 2, "api": 1, "none": 0, "still": 0} {
		if asked := p.podLists(name); asked != want {
			t.Errorf("the pods of %s were listed %d times, want %d", name, asked, want)
		}
	}
	if watched := p.requested("watch", "pods"); watched != 0 {
		t.Errorf("pods were watched %d times", watched)
	}
}

func TestAStartAsksForNoPodsButThoseOfReloadsUnderWay(t *testing.T) {
	p := install(t)
	const others = 50
	p.makeConfigMap("web", map[string]string{"v": "1"})
	p.makeConfigMap("app", map[string]string{"v": "1"})
	p.makeDeployments(others, func(i int) *appsv1.Deployment { return withPods(optedIn(fmt.Sprintf("app-%d", i), "app")) })
	p.makeDeployment(withPods(optedIn("web", "web")))
	p.must(p.ns.AwaitReady(p.ctx, deploymentRef("web")))
	c := p.start()
	p.each("adopted", others+1, func(d *appsv1.Deployment) bool { return d.Annotations[annotations.Ledger] != "" })
	// All of them have been reloaded, and one does not come to its end.
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "app"}, "v=2"))
	for i := range others {
		p.told(fmt.Sprintf("app-%d", i), "Rolled", 1)
	}
	_, err := p.Admin.AppsV1().Deployments(p.ns.Name).Patch(p.ctx, "web", types.MergePatchType, []byte(`{"spec":{"paused":true}}`), metav1.PatchOptions{})
	p.must(err)
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "web"}, "v=2"))
	p.told("web", "NotRolled", 1)
	p.must(p.ns.Quiet(p.ctx))
	p.must(c.Stop(p.ctx))

	before := p.requested("list", "pods")
	c = p.start()
	p.must(harness.Await(p.ctx, "the reload to be followed again", func(ctx context.Context) error {
		r, err := c.Metric(ctx, "reloader_rollouts_under_way", nil)
		if err == nil && r.Sum != 1 {
			err = fmt.Errorf("%v are followed", r.Sum)
		}
		return err
	}))
	p.must(p.ns.Quiet(p.ctx))
	if n := p.requested("list", "pods") - before; n != 1 || p.podLists("web") != 1 {
		t.Errorf("pods were listed %d times after the start, those of the paused one %d times in all", n, p.podLists("web"))
	}
	p.told("web", "NotRolled", 1)
}
