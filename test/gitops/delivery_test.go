package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// The ConfigMap comes in a wave before the workload, as tutorials have it.
const settings = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {argocd.argoproj.io/sync-wave: "0"}}
data: {greeting: GREETING}
`

const workloadYAML = `
apiVersion: API
kind: KIND
metadata:
  name: web
  annotations: {argocd.argoproj.io/sync-wave: "1", reloader.stakater.com/auto: "true"}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
STRATEGY
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: web
          image: web
          env: [{name: LEVEL, value: info}]
          envFrom: [{configMapRef: {name: settings}}]
`

const services = `
apiVersion: v1
kind: Service
metadata: {name: active}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: preview}
spec: {selector: {app: web}, ports: [{port: 80}]}
`

const (
	canary    = "  strategy: {canary: {steps: [{setWeight: 50}, {pause: {duration: 8s}}]}}"
	blueGreen = "  strategy: {blueGreen: {activeService: active, previewService: preview, scaleDownDelaySeconds: 1}}"
)

func greeting(text string) string { return strings.ReplaceAll(settings, "GREETING", text) }

func rolloutOf(strategy string) string {
	return strings.NewReplacer("API", "argoproj.io/v1alpha1", "KIND", "Rollout", "STRATEGY", strategy).Replace(workloadYAML)
}

func deploymentOf() string {
	return strings.NewReplacer("API", "apps/v1", "KIND", "Deployment", "STRATEGY\n", "").Replace(workloadYAML)
}

// delivery is one way to change what pods run with.
type delivery struct {
	name     string
	kind     string
	manifest string
	selfHeal bool
	// outside reports whether the ConfigMap is not in Git.
	outside bool
}

// watchedOn is how long an Application is watched after the last rollout.
const watchedOn = time.Minute

// What a commit changes reaches all pods, by one rollout, and Argo CD has nothing to find fault
// with.
func TestAChangedSourceReachesThePods(t *testing.T) {
	for _, d := range []delivery{
		{name: "canary", kind: "rollout", manifest: rolloutOf(canary), selfHeal: true},
		{name: "blue-green", kind: "rollout", manifest: services + "---" + rolloutOf(blueGreen), selfHeal: true},
		{name: "deployment", kind: "deployment", manifest: deploymentOf(), selfHeal: true},
		{name: "canary, source outside Git", kind: "rollout", manifest: rolloutOf(canary), selfHeal: true, outside: true},
		{name: "deployment, source outside Git", kind: "deployment", manifest: deploymentOf(), selfHeal: true, outside: true},
		{name: "blue-green, without self-heal, source outside Git", kind: "rollout", manifest: services + "---" + rolloutOf(blueGreen), outside: true},
		{name: "canary, without self-heal", kind: "rollout", manifest: rolloutOf(canary)},
		{name: "deployment, without self-heal", kind: "deployment", manifest: deploymentOf()},
	} {
		t.Run(d.name, func(t *testing.T) { d.play(newPlace(t)) })
	}
}

func (d delivery) play(p *place) {
	source, web := harness.Ref{Kind: "configmap", Name: "settings"}, harness.Ref{Kind: d.kind, Name: "web"}
	repo := p.newRepository()
	first := files{"web.yaml": d.manifest}
	if d.outside {
		p.must(p.ns.Apply(p.ctx, greeting("hello")))
	} else {
		first["settings.yaml"] = greeting("hello")
	}
	revision := repo.commit("web", first)
	app := p.deploy(repo, automated(d.selfHeal))
	app.awaitSynced(revision)
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.start()
	before := app.refresh()
	seen := app.record()

	var changed []string
	if d.outside {
		p.must(p.ns.Edit(p.ctx, source, "greeting=good morning"))
	} else {
		revision, changed = repo.commit("another greeting", files{"settings.yaml": greeting("good morning")}), []string{source.String()}
		app.refresh()
		app.awaitSynced(revision)
	}
	p.must(p.ns.AwaitRolls(p.ctx, web, 1))
	p.must(p.ns.AwaitFresh(p.ctx, web, source))
	rolled := time.Now()

	// Had Argo CD anything against what was written, it would say so now, and act. What it does
	// then would be seen by the controller, which decides, and by the third comparison.
	app.refresh()
	app.refresh()
	p.must(p.ns.Quiet(p.ctx))
	// It heals by itself, too, later each time it has to.
	select {
	case <-time.After(time.Until(rolled.Add(watchedOn))):
	case <-p.ctx.Done():
	}
	last := app.refresh()
	p.once(web)
	if last.Status.Sync.Status != "Synced" || last.Status.Health.Status != "Healthy" {
		p.Errorf("the Application is %s and %s at the end", last.Status.Sync.Status, last.Status.Health.Status)
	}
	states, err := seen.UpTo(p.ctx, last)
	p.must(err)
	for _, found := range drifts(states, revision, changed...) {
		p.Errorf("%s was OutOfSync %s", found.object, found.why)
	}
	if begun := syncs(states, before); len(begun) != len(changed) {
		p.Errorf("Argo CD had %d commits to sync, and has begun %d syncs: %q", len(changed), len(begun), begun)
	}
	if p.Failed() {
		p.Log(p.ns.Report(context.WithoutCancel(p.ctx)))
	}
}

// once checks that a workload of two pods was rolled once, and no pod more was made than that
// takes.
func (p *place) once(web harness.Ref) {
	p.Helper()
	rolls, err := p.ns.Rolls(p.ctx, web)
	p.must(err)
	made, err := p.ns.Made(p.ctx, web)
	p.must(err)
	sets, err := p.Admin.AppsV1().ReplicaSets(p.ns.Name).List(p.ctx, metav1.ListOptions{LabelSelector: "app=web"})
	p.must(err)
	if rolls != 1 || made != 4 || len(sets.Items) != 2 {
		p.must(errors.Join(fmt.Errorf("%s has rolled %d times, with %d pods of %d ReplicaSets: wanted are one time, 4 and 2", web, rolls, made, len(sets.Items)),
			errors.New(p.ns.Report(context.WithoutCancel(p.ctx)))))
	}
}
