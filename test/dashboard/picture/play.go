package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/dashboard"
	"github.com/reroll-dev/reroll/test/harness"
)

// How long it is played, and how often in seconds an instance is scraped.
const (
	length      = 10 * time.Minute
	scrapeEvery = 5
	editEvery   = 9 * time.Second
	// quietEnd is how long before the end nothing is edited any more, for rollouts to end.
	quietEnd = 20 * time.Second
	// namespace is what the scraper says, since that of the cluster has a number in its name.
	namespace = "reroll"
)

// workloads are of three kinds, and stuck is one whose new pods find no node as long as it has two.
// Another one is rolled after it.
const workloads = `
apiVersion: v1
kind: ConfigMap
metadata: {name: agents}
data: {n: "0"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: stuck}
data: {n: "0"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: store}
data: {n: "0"}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {n: "0"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 3
  minReadySeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{secretRef: {name: web}}]}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  minReadySeconds: 3
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: app, image: store, envFrom: [{configMapRef: {name: store}}]}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agents, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: agents}}
  template:
    metadata: {labels: {app: agents}}
    spec: {containers: [{name: app, image: agents, envFrom: [{configMapRef: {name: agents}}]}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: stuck, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  progressDeadlineSeconds: 10
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  selector: {matchLabels: {app: stuck}}
  template:
    metadata: {labels: {app: stuck}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: stuck}}}]}}
      containers: [{name: app, image: stuck, envFrom: [{configMapRef: {name: stuck}}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: after, annotations: {reloader.stakater.com/auto: "true", reroll.dev/wave: "1"}}
spec:
  selector: {matchLabels: {app: after}}
  template:
    metadata: {labels: {app: after}}
    spec: {containers: [{name: app, image: after, envFrom: [{configMapRef: {name: stuck}}]}]}
`

// play is a cluster with workloads, and the instances that look after them.
type play struct {
	admin     kubernetes.Interface
	ns        *harness.Namespace
	manifest  *harness.Manifest
	binary    string
	installed *harness.Installation
	receiver  *harness.Receiver
	instances *instances
	began     time.Time
}

func begin(ctx context.Context, c *cluster.Cluster, binary string) (p *play, err error) {
	p = &play{binary: binary, receiver: harness.StartReceiver("/alerts"), instances: &instances{}}
	defer func() {
		if err != nil {
			p.end()
		}
	}()
	if p.admin, err = kubernetes.NewForConfig(c.Config()); err != nil {
		return p, err
	}
	h, err := harness.New(c)
	if err != nil {
		return p, err
	}
	path, err := harness.ShippedManifest()
	if err != nil {
		return p, err
	}
	if p.manifest, err = harness.ReadManifest(path); err != nil {
		return p, err
	}
	if p.ns, err = h.EmptyNamespace(ctx, "dashboard"); err != nil {
		return p, err
	}
	if err := p.install(ctx); err != nil {
		return p, err
	}
	if err := p.ns.Apply(ctx, workloads); err != nil {
		return p, err
	}
	for _, pod := range []string{"reroll-0", "reroll-1"} {
		if err := p.start(ctx, pod); err != nil {
			return p, err
		}
	}
	for _, ref := range []harness.Ref{{Kind: "deployment", Name: "web"}, {Kind: "statefulset", Name: "store"}, {Kind: "daemonset", Name: "agents"}, {Kind: "deployment", Name: "stuck"}, {Kind: "deployment", Name: "after"}} {
		if err := errors.Join(p.ns.AwaitReady(ctx, ref), p.ns.AwaitAdopted(ctx, ref)); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *play) end() {
	p.instances.kill()
	p.receiver.Close()
}

// install gives the controller its account and permissions, or gives them back.
func (p *play) install(ctx context.Context) (err error) {
	p.installed, err = p.ns.Install(ctx, p.manifest, p.binary)
	return err
}

func (p *play) start(ctx context.Context, pod string) error {
	c, err := p.installed.Start(ctx, []string{"--enable-ha"},
		[]string{"POD_NAME=" + pod, "ALERT_ON_RELOAD=true", "ALERT_WEBHOOK_URL=" + p.receiver.URL()})
	if c != nil {
		p.instances.set(pod, c)
	}
	return err
}

// event is something that happens beside the edits.
type event struct {
	at   time.Duration
	what string
	do   func(context.Context) error
}

// events are those that docs/contributing/testing.md lists.
func (p *play) events() []event {
	stuck, store := harness.Ref{Kind: "deployment", Name: "stuck"}, harness.Ref{Kind: "statefulset", Name: "store"}
	agents := harness.Ref{Kind: "daemonset", Name: "agents"}
	return []event{
		{75 * time.Second, "a rollout whose new pods find no node", func(ctx context.Context) error {
			return p.ns.Edit(ctx, harness.Ref{Kind: "configmap", Name: "stuck"}, "n=1")
		}},
		{2 * time.Minute, "somebody takes its mark back", func(ctx context.Context) error { return p.ns.Unmark(ctx, stuck) }},
		{165 * time.Second, "the receiver of alerts answers with errors", func(context.Context) error {
			p.receiver.Behave(harness.Fail)
			return nil
		}},
		{195 * time.Second, "a DaemonSet requires approval", func(ctx context.Context) error {
			return p.ns.Annotate(ctx, agents, annotations.Approval+"=required")
		}},
		{265 * time.Second, "it does not any more", func(ctx context.Context) error { return p.ns.Annotate(ctx, agents, annotations.Approval+"-") }},
		{275 * time.Second, "the receiver is well again", func(context.Context) error {
			p.receiver.Behave(harness.Answer)
			return nil
		}},
		{290 * time.Second, "somebody takes a ledger away, twice", func(ctx context.Context) error {
			for range 2 {
				if err := errors.Join(p.ns.Annotate(ctx, store, "reroll.dev/ledger-"), p.ns.AwaitAdopted(ctx, store)); err != nil {
					return err
				}
			}
			return nil
		}},
		{330 * time.Second, "the permissions are gone", func(ctx context.Context) error {
			return p.admin.RbacV1().RoleBindings(p.ns.Name).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=reroll-role-binding"})
		}},
		{370 * time.Second, "the permissions are back", p.install},
		{435 * time.Second, "the instance that acts is stopped, and started again when the other one acts", func(ctx context.Context) error {
			pod, err := p.instances.stopTheActing(ctx)
			if err != nil {
				return err
			}
			if err := harness.Await(ctx, "the other instance to act", func(ctx context.Context) error {
				_, err := p.instances.acting(ctx)
				return err
			}); err != nil {
				return err
			}
			return p.start(ctx, pod)
		}},
		{8 * time.Minute, "the rollout that was stuck gets room", func(ctx context.Context) error { return p.ns.Scale(ctx, stuck, 1) }},
	}
}

// play lets time pass: edits, events and scrapes, each in a row of its own.
func (p *play) play(ctx context.Context) ([]dashboard.Scrape, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.began = time.Now()
	rows := []func(context.Context) error{p.edit, p.happen}
	failed := make(chan error, len(rows))
	for _, row := range rows {
		go func() {
			err := row(ctx)
			if err != nil {
				cancel(err) // the scrapes end too
			}
			failed <- err
		}()
	}
	var scrapes []dashboard.Scrape
	for at := int64(0); at <= int64(length/time.Second); at += scrapeEvery {
		if err := p.until(ctx, time.Duration(at)*time.Second); err != nil {
			break
		}
		served, err := p.instances.scrape(ctx, at)
		if err != nil {
			cancel(err)
			break
		}
		scrapes = append(scrapes, served...)
	}
	var errs []error
	for range rows {
		errs = append(errs, <-failed)
	}
	return scrapes, errors.Join(append(errs, context.Cause(ctx))...)
}

// until waits for a time after the beginning.
func (p *play) until(ctx context.Context, at time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(p.began.Add(at))):
		return nil
	}
}

func (p *play) edit(ctx context.Context) error {
	sources := []harness.Ref{{Kind: "secret", Name: "web"}, {Kind: "configmap", Name: "store"}, {Kind: "configmap", Name: "agents"}}
	for i := 1; time.Duration(i)*editEvery < length-quietEnd; i++ {
		if err := p.until(ctx, time.Duration(i)*editEvery); err != nil {
			return err
		}
		if err := p.ns.Edit(ctx, sources[i%len(sources)], fmt.Sprintf("n=%d", i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) happen(ctx context.Context) error {
	for _, e := range p.events() {
		if err := p.until(ctx, e.at); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%6s  %s\n", e.at, e.what)
		if err := e.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", e.what, err)
		}
	}
	return nil
}
