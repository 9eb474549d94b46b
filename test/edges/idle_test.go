package edges

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/harness"
)

// idle is what the promise is about, so here alone time is passed on purpose.
const idle = time.Minute

func TestHundredsOfIdleWorkloadsAreNoLineInTheLog(t *testing.T) {
	p := install(t)
	const workloads = 300
	p.makeConfigMap("app", map[string]string{"colour": "green"})
	p.makeDeployments(workloads, func(i int) *appsv1.Deployment { return optedIn(fmt.Sprintf("app-%d", i), "app") })
	// However slow the machine, the lease is no news.
	c := p.start("--adopt-rate=1000", "--leader-election-lease-duration=20m", "--leader-election-renew-deadline=19m")
	p.each("adopted", workloads, func(d *appsv1.Deployment) bool { return d.Annotations[annotations.Ledger] != "" })
	p.must(p.ns.Quiet(p.ctx))

	lines := func() []string { return slices.DeleteFunc(c.Log.Lines(), isAboutAnAPIServer) }
	before := len(lines())
	select {
	case <-time.After(idle):
	case <-c.Done():
		p.must(c.Running())
	case <-p.ctx.Done():
		t.Fatal(p.ctx.Err())
	}
	if more := lines()[before:]; len(more) > 0 {
		t.Errorf("%d lines in %s in which nothing happened:\n%s", len(more), idle, strings.Join(more[:min(len(more), 40)], "\n"))
	}

	// It was not asleep: one edit is one reload of each, and one line for each.
	p.must(p.ns.Edit(p.ctx, harness.Ref{Kind: "configmap", Name: "app"}, "colour=red"))
	p.each("rolled", workloads, func(d *appsv1.Deployment) bool { return len(d.Spec.Template.Spec.Containers[0].Env) == 1 })
	p.must(p.ns.Quiet(p.ctx))
	reloads := 0
	for _, line := range lines()[before:] {
		if strings.Contains(line, "Changes detected in 'app' of type 'CONFIGMAP'") {
			reloads++
		} else {
			t.Errorf("a line that is about no reload: %s", line)
		}
	}
	if reloads != workloads {
		t.Errorf("%d lines for %d reloads", reloads, workloads)
	}
}

// isAboutAnAPIServer reports whether a line says that a request failed and is tried again, as it
// does where a machine is too busy to answer. How many there are does not follow from the number of
// workloads.
func isAboutAnAPIServer(line string) bool {
	return strings.Contains(line, `"level":"warn"`) && strings.Contains(line, `"error":`)
}
