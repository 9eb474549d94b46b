// Command bench measures what the controller costs: on a cluster of its own, with the rights it ships with, and with
// the limit beside each figure, measured in the same run. It fails when the work was not done right, and never because
// of a figure.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// options are how much is measured. The defaults are what docs/cost.md shows.
type options struct {
	workloads  int           // that use one ConfigMap
	edits      int           // one at a time, each of another ConfigMap with a workload of its own
	secrets    int           // that are there at a start
	secretSize int           // bytes
	runs       int           // of each figure that gets a median
	idle       time.Duration // how long nothing happens
	only       string        // a part of the name of the scenarios to play
	json       string        // where the figures are written too
}

func main() {
	var opts options
	flag.IntVar(&opts.workloads, "workloads", 1000, "Deployments that use one ConfigMap")
	flag.IntVar(&opts.edits, "edits", 200, "ConfigMaps that are edited one at a time, each used by one Deployment")
	flag.IntVar(&opts.secrets, "secrets", 10000, "Secrets that are there at a start")
	flag.IntVar(&opts.secretSize, "secret-size", 20<<10, "bytes in each of them")
	flag.IntVar(&opts.runs, "runs", 3, "how often each figure is measured that gets a median")
	flag.DurationVar(&opts.idle, "idle", time.Minute, "how long it is watched doing nothing")
	flag.StringVar(&opts.only, "only", "", "play the scenarios whose name contains this: fan-out, latency, start")
	flag.StringVar(&opts.json, "json", "", "write the figures to this file too")
	flag.Parse()
	// The client library logs each watch that ends with its cluster.
	klog.SetLogger(logr.Discard())

	if err := run(opts); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(opts options) (err error) {
	if err := opts.validate(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// What is awaited has bounds of its own; this is one for what hangs elsewhere.
	const most = 30 * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("that did not happen within %s", most))
	defer cancel()

	s, err := newStage(ctx, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := report{Facts: s.facts()}
	// Each is shown when it is done: whoever has waited for minutes keeps what there is if a later one fails.
	fmt.Print(r.head())
	for _, sc := range s.scenarios() {
		if !opts.plays(sc.name) {
			continue
		}
		done, err := sc.play(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		for _, sec := range done {
			fmt.Print(sec.text())
		}
		r.Sections = append(r.Sections, done...)
	}
	if opts.json == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(opts.json, append(text, '\n'), 0o600)
}

type scenario struct {
	name string
	play func(context.Context) ([]section, error)
}

// scenarios are all of them, in their order.
func (s *stage) scenarios() []scenario {
	return []scenario{
		{"fan-out", s.fanOut},
		{"latency", s.latency},
		{"start", s.startUp},
	}
}

func (o options) plays(scenario string) bool { return strings.Contains(scenario, o.only) }

func (o options) validate() error {
	var errs []error
	if !slices.ContainsFunc((&stage{}).scenarios(), func(sc scenario) bool { return o.plays(sc.name) }) {
		errs = append(errs, fmt.Errorf("-only=%s: no scenario has that in its name; there are fan-out, latency and start", o.only))
	}
	for name, value := range map[string]int{
		"workloads": o.workloads, "edits": o.edits, "secrets": o.secrets, "secret-size": o.secretSize, "runs": o.runs,
	} {
		if value < 1 {
			errs = append(errs, fmt.Errorf("-%s=%d: must be 1 or more", name, value))
		}
	}
	if o.idle <= 0 {
		errs = append(errs, fmt.Errorf("-idle=%s: must be more than 0, such as 60s", o.idle))
	}
	return errors.Join(errs...)
}
