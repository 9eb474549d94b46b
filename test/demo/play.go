package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/story"
)

const (
	optedIn  = "web"
	optedOut = "web-not-opted-in"
	greeting = "greeting"
	key      = "text"
	newValue = "good morning"
)

// program is what is played.
type program struct {
	title   string
	example string // the manifest
	// source is edited, and who looks around may set its key to next.
	source    harness.Ref
	key, next string
	acts      func(*demo) []func(context.Context) error
}

func newProgram(opts *options) program {
	p := program{
		title: "Two Deployments use one ConfigMap. They differ in one annotation.", example: "examples/first-steps/first-steps.yaml",
		source: harness.Ref{Kind: "configmap", Name: greeting}, key: key, next: "good evening",
		acts: func(d *demo) []func(context.Context) error { return []func(context.Context) error{d.apply, d.edit} },
	}
	if opts.waves {
		p = wavesProgram()
	}
	if opts.example != "" {
		p.example = opts.example
	}
	return p
}

// demo is one performance.
type demo struct {
	program
	story  *story.Story
	binary string // of the controller
	own    bool   // the cluster is a throwaway one
	real   bool   // its pods run containers
	// showWhy asks for the command that reports why they run none.
	showWhy bool
	end     context.CancelFunc

	place      place
	client     kubernetes.Interface
	namespace  *harness.Namespace
	controller *harness.Controller
}

// play goes through the steps. The context living bounds what outlives them, when it is to be kept
// running.
func (d *demo) play(ctx, living context.Context, existingContext string, giveUp context.CancelCauseFunc) error {
	if err := d.openCluster(ctx, living, existingContext); err != nil {
		return err
	}
	if err := d.startController(ctx, giveUp); err != nil {
		return err
	}
	for _, act := range d.acts(d) {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

// whyNot is the command that reports what is missing for real nodes.
const whyNot = "go run ./test/cluster/cmd/throwaway check"

func (d *demo) openCluster(ctx, living context.Context, existingContext string) error {
	living, d.end = context.WithCancel(living)
	// Set only when it is there: a nil pointer in an interface is not nil, and what is there gets
	// stopped.
	where := "on loopback; its pods run no containers"
	if d.own {
		d.story.Expect("a throwaway cluster to be ready")
		options := cluster.Options{Progress: os.Stderr}
		switch {
		case d.real:
			options.RealNodes = 2
			where = "on loopback; its pods run containers"
		case d.showWhy:
			where += "; to see why: " + whyNot
		}
		started, err := cluster.Start(ctx, options)
		if err != nil {
			return err
		}
		d.place = started
	} else {
		where = "of your context " + existingContext + ", namespace of its own"
		d.story.Expect("the cluster of context " + existingContext + " to answer")
		found, err := useExisting(existingContext)
		if err != nil {
			return err
		}
		d.place = found
	}
	version, err := serverVersion(d.place.Config())
	if err != nil {
		return err
	}
	if d.client, err = kubernetes.NewForConfig(d.place.Config()); err != nil {
		return err
	}
	h, err := harness.New(d.place)
	if err != nil {
		return err
	}
	if d.namespace, err = h.EmptyNamespace(living, "reroll-demo"); err != nil {
		return err
	}
	d.story.Tell("cluster", "Kubernetes %s %s", version, where)
	return nil
}

func (d *demo) startController(ctx context.Context, giveUp context.CancelCauseFunc) error {
	d.story.Expect("the controller to be ready")
	path, err := harness.ShippedManifest()
	if err != nil {
		return err
	}
	manifest, err := harness.ReadManifest(path)
	if err != nil {
		return err
	}
	installation, err := d.namespace.Install(ctx, manifest, d.binary)
	if err != nil {
		return err
	}
	if d.controller, err = installation.Start(ctx, nil, nil); err != nil {
		return err
	}
	d.controller.WhenEnded(ctx, giveUp)
	d.story.Tell("reroll", "runs with the permissions of %s", filepath.Join("deploy", filepath.Base(path)))
	return nil
}

func (d *demo) apply(ctx context.Context) error {
	manifest, err := os.ReadFile(d.example)
	if err != nil {
		return fmt.Errorf("read the example (run this from the root of the repository): %w", err)
	}
	if err := d.namespace.Apply(ctx, string(manifest)); err != nil {
		return err
	}
	d.story.Tell("apply", "%s: %s, %s, ConfigMap %s", filepath.Base(filepath.Dir(d.example)), optedIn, optedOut, greeting)
	d.story.Expect("all pods to be ready")
	for _, name := range []string{optedIn, optedOut} {
		if err := d.namespace.AwaitReady(ctx, deployment(name)); err != nil {
			return err
		}
	}
	if err := d.namespace.Mark(ctx); err != nil {
		return err
	}
	if err := d.awaitDecided(ctx, "Reroll to note what the pods of "+optedIn+" were started with", func(ctx context.Context) error {
		w, err := d.workload(ctx, optedIn)
		if err == nil && w.LedgerText == "" {
			err = errors.New("there is no annotation " + annotations.Ledger)
		}
		return err
	}); err != nil {
		return err
	}
	if err := d.expectRolls(ctx, 0, "the first apply, with the ConfigMap last, is to roll nothing"); err != nil {
		return err
	}
	d.story.Tell("ready", "2 pods each; the first apply rolled nothing")
	if d.own {
		return nil // the first line has said it
	}
	return d.tellWithoutContainers(ctx)
}

func (d *demo) edit(ctx context.Context) error {
	pods, err := d.watchPods(ctx)
	if err != nil {
		return err
	}
	defer pods.stop()
	before, err := d.client.CoreV1().ConfigMaps(d.namespace.Name).Get(ctx, greeting, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := d.namespace.Edit(ctx, harness.Ref{Kind: "configmap", Name: greeting}, key+"="+newValue); err != nil {
		return err
	}
	d.story.Tell("edit", "ConfigMap %s: %s is now %q, was %q", greeting, key, newValue, before.Data[key])
	d.story.Tell("expected", "%s rolls once, %s not at all", optedIn, optedOut)
	if err := d.awaitDecided(ctx, optedIn+" to roll once", func(ctx context.Context) error {
		w, err := d.workload(ctx, optedIn)
		if err == nil && len(w.Marks.Env) == 0 {
			err = errors.New("its pod template carries no variable STAKATER_…, so it has not been rolled")
		}
		return err
	}); err != nil {
		return err
	}
	if err := d.explain(ctx); err != nil {
		return err
	}
	d.story.Expect("new pods of " + optedIn + " to be ready and the old ones to be gone")
	if err := pods.follow(ctx); err != nil {
		return err
	}
	if err := d.namespace.AwaitRolls(ctx, deployment(optedIn), 1); err != nil {
		if rolls, seen := d.namespace.Rolls(ctx, deployment(optedIn)); seen == nil && rolls > 1 {
			return fmt.Errorf("%s has rolled %s; expected was once: one edit is to roll it once", optedIn, times(rolls))
		}
		return err
	}
	if err := d.expectRolls(ctx, 1, "one edit is to roll it once"); err != nil {
		return err
	}
	if err := pods.kept(ctx, optedOut); err != nil {
		return err
	}
	d.story.Tell("settled", "Reroll has acted on later edits elsewhere: no more comes")
	d.story.Tell("done", "%s rolled once; %s keeps its 2 pods", optedIn, optedOut)
	return nil
}

// explain says why the one is concerned and the other is not, by the rules of the controller
// itself, and what was written, as the API server tells it.
func (d *demo) explain(ctx context.Context) error {
	cm, err := d.client.CoreV1().ConfigMaps(d.namespace.Name).Get(ctx, greeting, metav1.GetOptions{})
	if err != nil {
		return err
	}
	src := source.FromConfigMap(cm, annotations.DefaultNames())
	for _, name := range []string{optedIn, optedOut} {
		w, err := d.workload(ctx, name)
		if err != nil {
			return err
		}
		verdict := w.Verdict(src.Key, src.Annotations, false)
		reference, _ := w.Reference(src.Key.Local())
		if len(reference.Uses) == 0 {
			return fmt.Errorf("expected was that Deployment %s uses ConfigMap %s", name, greeting)
		}
		about := "why"
		if !verdict.Concerned {
			about = "why not"
		}
		rule := verdict.Rule.String()
		if verdict.Concerned {
			rule = "opted in by " + rule + ", and uses it"
		}
		d.story.Tell(about, "%s: %s (%s)", name, rule, reference.Uses[0])
	}
	return d.tellWrites(ctx)
}

func (d *demo) workload(ctx context.Context, name string) (*workload.Workload, error) {
	obj, err := d.client.AppsV1().Deployments(d.namespace.Name).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, k := range kinds.All() {
		if k.Name == "Deployment" {
			w, err := k.Read(obj, annotations.DefaultNames())
			return &w, err
		}
	}
	return nil, errors.New("the controller does not know Deployments")
}

func deployment(name string) harness.Ref { return harness.Ref{Kind: "deployment", Name: name} }
