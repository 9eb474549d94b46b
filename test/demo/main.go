// Command demo shows what Reroll does: a cluster, the controller with the rights that it ships with, the example of
// examples/first-steps, one edit, and what comes of it.
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
)

type options struct {
	keep    bool   // leave everything running
	context string // of the user's kubeconfig, in the place of a throwaway cluster
	example string
	inner   bool // this is the process that keeps it running
}

func main() {
	var opts options
	flag.BoolVar(&opts.keep, "keep", false, "leave everything running at the end")
	flag.StringVar(&opts.context, "context", "", "use this context of the kubeconfig, and a namespace of its own there")
	flag.StringVar(&opts.example, "example", "examples/first-steps/first-steps.yaml", "the manifest to play")
	flag.BoolVar(&opts.inner, "inner", false, "used by -keep")
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
	if opts.keep && !opts.inner {
		return cluster.Background(append([]string{"--inner"}, os.Args[1:]...)...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	var keeper *cluster.Keeper
	if opts.keep {
		if keeper, err = cluster.Keep(); err != nil {
			return 1, err
		}
		defer keeper.Close()
	}
	binary, err := buildController(ctx)
	if err != nil {
		return 1, err
	}
	if opts.context == "" {
		// A first build takes minutes and tells about itself; the story's clock starts after it.
		if _, err := cluster.Build(ctx, os.Stderr); err != nil {
			return 1, err
		}
	}
	fmt.Println("Two Deployments use one ConfigMap. They differ in one annotation.")
	d := &demo{story: story{out: os.Stdout, began: time.Now()}, example: opts.example, own: opts.context == ""}
	defer func() { err = errors.Join(err, d.clean()) }()
	// Only a bound for what hangs: nothing in the demo waits for a time to pass.
	playing, cancel := context.WithTimeoutCause(ctx, 5*time.Minute, errors.New("that did not happen within 5 minutes"))
	defer cancel()
	played := d.play(playing, ctx, opts.context, binary)
	if !opts.keep || d.place == nil {
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
	keeper.Wait()
	return code, nil
}

func buildController(ctx context.Context) (string, error) {
	folder, err := filepath.Abs("bin")
	if err != nil {
		return "", err
	}
	return harness.Build(ctx, folder, false)
}
