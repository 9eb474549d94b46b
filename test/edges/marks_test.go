package edges

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/harness"
)

// marked is a Deployment with a variable as Reloader writes it, of a content that nobody knows any
// more.
func marked(name string) *appsv1.Deployment {
	d := withPods(optedIn(name, name))
	app := &d.Spec.Template.Spec.Containers[0]
	app.Env = []corev1.EnvVar{{
		Name:  "STAKATER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_CONFIGMAP",
		Value: strings.Repeat("0123456789abcdef0123", 2),
	}}
	return d
}

// serverTime is what the API server notes of something that is made now.
func (p *place) serverTime(ctx context.Context) (time.Time, error) {
	obj, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Create(ctx,
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "now"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return time.Time{}, err
	}
	return obj.CreationTimestamp.Time, nil
}

func TestStaleMarksOfReloaderWhosePodsAreYounger(t *testing.T) {
	p := install(t)
	const workloads = 100
	name := func(i int) string { return fmt.Sprintf("app-%d", i) }

	// Content from before the installation counts for nothing, so that comes first.
	p.must(p.start().Stop(p.ctx))

	// One of them really has pods from before the change, to show that it would be seen.
	p.makeConfigMap("missed", map[string]string{"v": "1"})
	p.makeDeployment(marked("missed"))
	p.must(p.ns.AwaitReady(p.ctx, deploymentRef("missed")))
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "missed"}, "v=2"))

	p.make(workloads, func(ctx context.Context, i int) error {
		_, err := p.Admin.CoreV1().ConfigMaps(p.ns.Name).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Data: map[string]string{"v": "1"}}, metav1.CreateOptions{})
		return err
	})
	changed, err := p.serverTime(p.ctx)
	p.must(err)
	p.must(harness.Await(p.ctx, "the pods to be clearly younger than the contents", func(ctx context.Context) error {
		now, err := p.serverTime(ctx)
		if err == nil && now.Sub(changed) <= 6*time.Second {
			return errors.New("they would not be")
		}
		return err
	}))
	p.makeDeployments(workloads, func(i int) *appsv1.Deployment { return marked(name(i)) })
	p.each("ready", workloads+1, func(d *appsv1.Deployment) bool { return d.Status.AvailableReplicas == 1 })

	p.start("--adopt-rate=1000")
	p.each("adopted", workloads+1, func(d *appsv1.Deployment) bool { return d.Annotations[annotations.Ledger] != "" })
	p.must(p.ns.AwaitRolls(p.ctx, deploymentRef("missed"), 1))
	p.rolled(p.ns, deploymentRef("missed"), 1)
	asked := p.requested("list", "pods")
	if asked < workloads {
		t.Errorf("pods were asked for %d times: something else told that nothing is to be done", asked)
	}
	for i := range workloads {
		got, err := p.ns.Observer.Rollouts(deploymentRef(name(i)))
		p.must(err)
		if got != 0 {
			t.Errorf("%s has rolled %d times", name(i), got)
		}
	}
}

// each returns when so many Deployments of the test are as they should be. It watches: to list
// hundreds of them again and again would take the machine from those who are to bring it about.
func (p *place) each(what string, wanted int, is func(*appsv1.Deployment) bool) {
	p.Helper()
	for {
		are := map[string]bool{}
		w, err := p.Admin.AppsV1().Deployments(p.ns.Name).Watch(p.ctx, metav1.ListOptions{})
		p.must(err)
		for event := range w.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok && is(d) {
				are[d.Name] = true
			}
			if len(are) == wanted {
				w.Stop()
				return
			}
		}
		if p.ctx.Err() != nil {
			p.Fatalf("%d of %d workloads are %s: %v", len(are), wanted, what, context.Cause(p.ctx))
		}
	}
}
