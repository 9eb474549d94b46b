// Command demo plays the usual tutorial of GitOps beside Reroll: a cluster, the real Argo CD, Git
// repositories, Reroll as an Application of its own, and the example of examples/gitops. Each step
// says what is done and what is seen, and fails unless that is what is to be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/story"
)

type options struct {
	keep    bool // leave everything running
	inner   bool // this is the process that keeps it running
	race    bool
	example string

	patience time.Duration
}

func main() {
	var opts options
	flag.BoolVar(&opts.keep, "keep", false, "leave everything running at the end")
	flag.BoolVar(&opts.inner, "inner", false, "used by -keep")
	flag.BoolVar(&opts.race, "race", false, "build Reroll with the race detector")
	flag.StringVar(&opts.example, "example", filepath.Join("examples", "gitops"), "the folder to play")
	// Far more than any step takes.
	flag.DurationVar(&opts.patience, "patience", 4*time.Minute, "give up when nothing has happened for this long")
	flag.Parse()
	// The client library logs each watch that ends with its cluster.
	klog.SetLogger(logr.Discard())

	code, err := run(opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "\nThe demo did not end as it should.\n%v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(opts options) (code int, err error) {
	if err := cluster.Supported(); err != nil {
		return 1, err
	}
	if opts.keep && !opts.inner {
		return cluster.Background(append([]string{"--inner"}, os.Args[1:]...)...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Who interrupts a second time does not want to wait for the cleaning up.
	context.AfterFunc(ctx, stop)

	var keeper *cluster.Keeper
	if opts.keep {
		if keeper, err = cluster.Keep(cluster.KeptDemo); err != nil {
			return 1, err
		}
		defer keeper.Close()
	}
	d := &demo{example: opts.example}
	if d.binary, err = prepare(ctx, opts.race); err != nil {
		return 1, err
	}
	fmt.Println("Argo CD deploys from Git; Reroll makes what it deployed reach the pods.")
	d.story = story.New(os.Stdout)
	defer func() { err = errors.Join(err, d.clean()) }()
	played := d.perform(ctx, opts.patience)
	if !opts.keep || d.cluster == nil || ctx.Err() != nil {
		return 0, played
	}
	if played != nil {
		fmt.Fprintf(os.Stderr, "\nThe demo did not end as it should.\n%v\n", played)
		code = 1
	}
	d.lookAround()
	if err := keeper.Leave(code, cluster.Kept{Kubeconfig: d.cluster.Kubeconfig(), Logs: d.cluster.Dir()}); err != nil {
		return 1, err
	}
	if err := d.cluster.Broken(ctx); err != nil {
		return 1, keeper.Ended(err)
	}
	return code, nil
}

// prepare builds what takes minutes for the first time and tells about itself; the story's clock
// starts after it.
func prepare(ctx context.Context, race bool) (string, error) {
	if _, err := cluster.Build(ctx, os.Stderr); err != nil {
		return "", err
	}
	if err := cluster.BuildOther(ctx, os.Stderr, "argo-cd"); err != nil {
		return "", err
	}
	folder, err := filepath.Abs(filepath.Join("bin", "demo-controller"))
	if err != nil {
		return "", err
	}
	if race {
		folder += "-race"
	}
	return harness.Build(ctx, folder, race)
}

// perform plays, and shows what was seen if that does not end well.
func (d *demo) perform(ctx context.Context, patience time.Duration) error {
	playing, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go d.story.Watch(playing, patience, giveUp)
	err := d.play(playing, ctx, giveUp)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("it was interrupted while it waited for %s", d.story.Expecting())
	}
	for _, ns := range []*harness.Namespace{d.shop, d.staging} {
		if ns != nil && len(ns.Observer.Timeline()) > 0 {
			err = fmt.Errorf("%w\n\n%s", err, ns.Report(context.WithoutCancel(ctx)))
		}
	}
	if d.controller == nil {
		return err
	}
	return fmt.Errorf("%w\nthe end of Reroll's log:\n%s", err, d.controller.Log.Tail(25))
}

// clean ends what was started.
func (d *demo) clean() error {
	// The context of the play may be over. The bound is for a process that does not answer any
	// more.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 3*time.Minute, errors.New("not within 3 minutes"))
	defer cancel()
	var errs []error
	if d.controller != nil {
		if d.controller.Running() == nil {
			errs = append(errs, d.controller.Stop(ctx))
		}
		errs = append(errs, d.controller.Sound())
	}
	if d.end != nil {
		d.end() // what watches stops before what is watched
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Stop())
	}
	return errors.Join(errs...)
}

// lookAround says how to go on by hand.
func (d *demo) lookAround() {
	fmt.Println("\nEverything is left running. With kubectl and git, if you have them:")
	fmt.Println("  export KUBECONFIG=" + d.cluster.Kubeconfig())
	fmt.Println("  kubectl -n argocd get applications")
	if d.repository != nil {
		fmt.Println("  cd " + d.repository.Path(""))
		fmt.Println("  sed -i 's/^greeting:.*/greeting: good evening/' web/values.yaml")
		fmt.Println("  git commit -am 'another greeting' && git push origin HEAD:main")
		fmt.Println("  kubectl -n staging get deployments,replicasets,pods,events")
	}
	fmt.Println("To end it: make cluster-down")
}
