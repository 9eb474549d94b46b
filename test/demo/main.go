// Command demo shows what Reroll does: a cluster, the controller with the permissions that it ships
// with, the example of examples/first-steps, one edit, and what comes of it. With -waves it plays
// examples/waves, where bad data stops at the canary.
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
	keep    bool   // leave everything running
	context string // of the user's kubeconfig, in the place of a throwaway cluster
	example string
	waves   bool // play examples/waves
	// simulated asks for pods without containers, also where a throwaway cluster can run some.
	simulated bool
	inner     bool // this is the process that keeps it running

	patience time.Duration
}

func main() {
	var opts options
	flag.BoolVar(&opts.keep, "keep", false, "leave everything running at the end")
	flag.StringVar(&opts.context, "context", "", "use this context of the kubeconfig, and a namespace of its own there")
	flag.StringVar(&opts.example, "example", "", "the manifest to play; by default that of examples/first-steps, or of examples/waves")
	flag.BoolVar(&opts.waves, "waves", false, "play how bad data stops at a canary, on a throwaway cluster")
	flag.BoolVar(&opts.simulated, "simulated", false, "run no containers, also where they could run")
	flag.BoolVar(&opts.inner, "inner", false, "used by -keep")
	// More than a start of the cluster is given, and far more than any other step takes.
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
	if opts.waves && opts.context != "" {
		return 1, errors.New("the demo of waves plays on a throwaway cluster alone: leave out the context")
	}
	if opts.context == "" {
		if err := cluster.Supported(); err != nil {
			return 1, err
		}
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
	binary, err := buildController(ctx)
	if err != nil {
		return 1, err
	}
	d := &demo{program: newProgram(&opts), binary: binary, own: opts.context == "", showWhy: !opts.simulated && !opts.waves}
	if d.own {
		d.real = !opts.simulated && cluster.RealNodesSupported() == nil
		if err := d.build(ctx); err != nil {
			return 1, err
		}
	}
	fmt.Println(d.title)
	d.story = story.New(os.Stdout)
	defer func() { err = errors.Join(err, d.clean()) }()
	played := d.perform(ctx, opts)
	if !opts.keep || d.namespace == nil || ctx.Err() != nil {
		return 0, played
	}
	if played != nil {
		fmt.Fprintf(os.Stderr, "\nThe demo did not end as it should.\n%v\n", played)
		code = 1
	}
	d.lookAround(opts.context)
	if err := keeper.Leave(code, cluster.Kept{Kubeconfig: d.place.Kubeconfig(), Logs: d.place.Dir()}); err != nil {
		return 1, err
	}
	if err := d.place.Broken(ctx); err != nil {
		return 1, keeper.Ended(err)
	}
	return code, nil
}

// perform plays, and shows what the controller said if that does not end well.
func (d *demo) perform(ctx context.Context, opts options) error {
	playing, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	go d.story.Watch(playing, opts.patience, giveUp)
	err := d.play(playing, ctx, opts.context, giveUp)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("it was interrupted while it waited for %s", d.story.Expecting())
	}
	if err == nil || d.controller == nil {
		return err
	}
	if _, ended := errors.AsType[*harness.EndedError](err); ended {
		return err // which shows it
	}
	return fmt.Errorf("%w\nthe end of Reroll's log:\n%s", err, d.controller.Log.Tail(15))
}

// build makes a throwaway cluster possible. The first time takes minutes and tells about itself;
// the story's clock starts after it.
func (d *demo) build(ctx context.Context) error {
	if _, err := cluster.Build(ctx, os.Stderr); err != nil || !d.real {
		return err
	}
	return cluster.BuildOther(ctx, os.Stderr, "real-nodes")
}

// buildController makes one of its own, so that the release in bin/ stays what it is.
func buildController(ctx context.Context) (string, error) {
	folder, err := filepath.Abs(filepath.Join("bin", "demo-controller"))
	if err != nil {
		return "", err
	}
	return harness.Build(ctx, folder, false)
}
