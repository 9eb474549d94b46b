package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

const (
	optedIn  = "web"
	optedOut = "web-not-opted-in"
	source   = "greeting"
	key      = "text"
	newValue = "good morning"
)

// demo is one performance.
type demo struct {
	story   story
	example string // the manifest that is played
	own     bool   // the cluster is a throwaway one
	end     context.CancelFunc

	place      place
	client     kubernetes.Interface
	namespace  *harness.Namespace
	controller *harness.Controller
}

// play performs. The context living bounds what outlives the performance, when it is to be kept running.
func (d *demo) play(ctx, living context.Context, existingContext, binary string) error {
	for _, step := range []func() error{
		func() error { return d.openCluster(ctx, living, existingContext) },
		func() error { return d.startController(ctx, binary) },
		func() error { return d.apply(ctx) },
		func() error { return d.edit(ctx) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) openCluster(ctx, living context.Context, existingContext string) error {
	living, d.end = context.WithCancel(living)
	var err error
	where := "on loopback; its pods run no containers"
	if d.own {
		d.place, err = cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	} else {
		where = "of your context " + existingContext + ", namespace of its own"
		d.place, err = useExisting(existingContext)
	}
	if err != nil {
		return err
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
	d.story.tell("cluster", "Kubernetes %s %s", version, where)
	return nil
}

func (d *demo) startController(ctx context.Context, binary string) error {
	path, err := harness.ShippedManifest()
	if err != nil {
		return err
	}
	manifest, err := harness.ReadManifest(path)
	if err != nil {
		return err
	}
	installation, err := d.namespace.Install(ctx, manifest, binary)
	if err != nil {
		return err
	}
	if d.controller, err = installation.Start(ctx, nil, nil); err != nil {
		return err
	}
	d.story.tell("reroll", "runs with the rights of %s", filepath.Join("deploy", filepath.Base(path)))
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
	d.story.tell("apply", "%s: %s, %s, ConfigMap %s", filepath.Base(filepath.Dir(d.example)), optedIn, optedOut, source)
	for _, name := range []string{optedIn, optedOut} {
		if err := d.namespace.AwaitReady(ctx, deployment(name)); err != nil {
			return err
		}
	}
	err = harness.Await(ctx, "Reroll to note what the pods of "+optedIn+" were started with", func(ctx context.Context) error {
		w, err := d.workload(ctx, optedIn)
		if err == nil && w.LedgerText == "" {
			err = errors.New("there is no annotation " + reload.LedgerAnnotation + " yet")
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := d.expectRolls(ctx, 0, "the first apply, with the ConfigMap last, rolls nothing"); err != nil {
		return err
	}
	d.story.tell("ready", "2 pods each; the first apply rolled nothing")
	return nil
}

func (d *demo) edit(ctx context.Context) error {
	pods, err := d.watchPods(ctx)
	if err != nil {
		return err
	}
	defer pods.stop()
	before, err := d.client.CoreV1().ConfigMaps(d.namespace.Name).Get(ctx, source, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := d.namespace.Edit(ctx, harness.Ref{Kind: "configmap", Name: source}, key+"="+newValue); err != nil {
		return err
	}
	d.story.tell("edit", "ConfigMap %s: %s is now %q, was %q", source, key, newValue, before.Data[key])
	if err := d.explain(ctx); err != nil {
		return err
	}
	if err := pods.follow(ctx, d.oldPodsGone); err != nil {
		return err
	}
	if err := d.namespace.AwaitRolls(ctx, deployment(optedIn), 1); err != nil {
		return err
	}
	if err := d.idle(ctx); err != nil {
		return err
	}
	if err := d.expectRolls(ctx, 1, "one edit rolls it once"); err != nil {
		return err
	}
	d.story.tell("done", "%s rolled once; %s keeps its 2 pods", optedIn, optedOut)
	return nil
}

// explain says why the one is concerned and the other is not, by the rules of the controller itself, and what was
// written, as the API server tells it.
func (d *demo) explain(ctx context.Context) error {
	if err := harness.Await(ctx, "the mark on "+optedIn, func(ctx context.Context) error {
		w, err := d.workload(ctx, optedIn)
		if err == nil && len(w.Marks.Env) == 0 {
			err = errors.New("it carries no variable STAKATER_…")
		}
		return err
	}); err != nil {
		return err
	}
	cm, err := d.client.CoreV1().ConfigMaps(d.namespace.Name).Get(ctx, source, metav1.GetOptions{})
	if err != nil {
		return err
	}
	src := reload.FromConfigMap(cm, reload.DefaultNames())
	for _, name := range []string{optedIn, optedOut} {
		w, err := d.workload(ctx, name)
		if err != nil {
			return err
		}
		verdict := w.Judge(src.Key, src.Annotations, false)
		reference, _ := w.Reference(src.Key.Local())
		if len(reference.Uses) == 0 {
			return fmt.Errorf("expected was that Deployment %s uses ConfigMap %s", name, source)
		}
		about := "why"
		if !verdict.Concerned {
			about = "why not"
		}
		d.story.tell(about, "%s: %s (%s)", name, verdict.Rule, reference.Uses[0])
	}
	return d.tellWrites(ctx)
}

func (d *demo) oldPodsGone(ctx context.Context) error {
	return d.namespace.AwaitReady(ctx, deployment(optedIn))
}

// idle returns when the controller has nothing left to look at.
func (d *demo) idle(ctx context.Context) error {
	return harness.Await(ctx, "Reroll to have nothing left to look at", func(ctx context.Context) error {
		depth, err := d.controller.Metric(ctx, "reloader_workqueue_depth", nil)
		if err == nil && depth.Sum > 0 {
			err = fmt.Errorf("%.0f workloads wait", depth.Sum)
		}
		return err
	})
}

func (d *demo) expectRolls(ctx context.Context, wanted int, why string) error {
	for name, want := range map[string]int{optedIn: wanted, optedOut: 0} {
		rolls, err := d.namespace.Rolls(ctx, deployment(name))
		if err != nil {
			return err
		}
		if rolls != want {
			return fmt.Errorf("%s has rolled %d times; expected was %d: %s", name, rolls, want, why)
		}
	}
	return nil
}

func (d *demo) workload(ctx context.Context, name string) (*reload.Workload, error) {
	obj, err := d.client.AppsV1().Deployments(d.namespace.Name).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	for _, k := range kinds.All() {
		if k.Name == "Deployment" {
			w, err := k.Read(obj, reload.DefaultNames())
			return &w, err
		}
	}
	return nil, errors.New("the controller does not know Deployments")
}

func deployment(name string) harness.Ref { return harness.Ref{Kind: "deployment", Name: name} }

// clean ends what was started. What happened before counts more than what goes wrong here.
func (d *demo) clean() error {
	// The context of the play may be over.
	ctx := context.Background()
	var errs []error
	if d.controller != nil && d.controller.Running() == nil {
		errs = append(errs, d.controller.Stop(ctx))
	}
	if d.end != nil {
		d.end() // what watches stops before what is watched
	}
	if d.namespace != nil && !d.own {
		errs = append(errs, d.client.CoreV1().Namespaces().Delete(ctx, d.namespace.Name, metav1.DeleteOptions{}))
	}
	if d.place != nil {
		errs = append(errs, d.place.Stop())
	}
	return errors.Join(errs...)
}

// lookAround says how to go on by hand.
func (d *demo) lookAround(existingContext string) {
	kubectl := "kubectl -n " + d.namespace.Name
	fmt.Println("\nEverything is left running. To look around, and to edit again:")
	if d.own {
		fmt.Println("  export KUBECONFIG=" + d.place.Kubeconfig())
	} else {
		kubectl += " --context " + existingContext
	}
	fmt.Println("  " + kubectl + " get deployments,replicasets,pods,events")
	fmt.Println("  " + kubectl + ` patch configmap ` + source + ` -p '{"data":{"` + key + `":"good evening"}}'`)
	fmt.Println("To end it: make cluster-down")
}
