// Command bench measures what the controller costs: on clusters of its own, with the permissions it
// ships with, and with the limit beside each figure, measured in the same run. It fails when the
// work was not done right, and with -check when a figure is beyond twice its target; never because
// of how long something took.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	// The client library logs each watch that ends with its cluster.
	klog.SetLogger(logr.Discard())
	opts, err := readOptions(flag.CommandLine, os.Args[1:])
	if err == nil {
		err = run(opts)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(opts options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{opts: opts}
	if b.folder, err = os.MkdirTemp("", "reroll-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	b.tell("building the controller")
	if b.binary, err = b.build(ctx, controllerPackage); err != nil {
		return err
	}
	r := report{Facts: b.facts(), Peer: opts.peer}
	// Each is shown when it is done: whoever has waited for minutes keeps what there is if a later
	// one fails.
	fmt.Print(r.head())
	var errs []error
	for _, sc := range scenarios() {
		if !opts.plays(sc.name) {
			continue
		}
		done, err := b.play(ctx, sc)
		for _, sec := range done {
			fmt.Print(sec.text(opts.peer != ""))
		}
		r.Sections = append(r.Sections, done...)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", sc.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	errs = append(errs, r.write(opts))
	if opts.check {
		errs = append(errs, r.check(opts))
	}
	return errors.Join(errs...)
}

// play plays a scenario with the controller, and with the peer on another cluster, if there is one.
func (b *bench) play(ctx context.Context, sc scenario) ([]section, error) {
	began := time.Now()
	before := load()
	b.tell("%s (load %s)", sc.name, before)
	done, err := b.playOurs(ctx, sc)
	if b.opts.check && b.opts.runs < enough && err == nil && slices.ContainsFunc(done, section.misses) {
		b.tell("%s is beyond a bound; again, with %d runs", sc.name, enough)
		again := *b
		again.opts.runs = enough
		done, err = again.playOurs(ctx, sc)
	}
	if err != nil {
		return done, err
	}
	if b.opts.peer != "" {
		beside, err := b.playWith(ctx, sc, subject{peer: b.opts.peer})
		if err != nil {
			return done, fmt.Errorf("with the peer: %w", err)
		}
		addPeer(done, beside)
	}
	if last := len(done) - 1; last >= 0 {
		done[last].Before, done[last].After, done[last].Took = before, load(), time.Since(began).Round(time.Second).String()
		b.tell("%s took %s (load %s)", sc.name, done[last].Took, done[last].After)
	}
	return done, nil
}

func (b *bench) playOurs(ctx context.Context, sc scenario) ([]section, error) {
	done, err := b.playWith(ctx, sc, subject{})
	for i := range done {
		done[i].Scenario = sc.name
		addTargets(&done[i], b.opts.check)
	}
	return done, err
}

// hangs bounds what hangs where nothing that is awaited has a bound of its own: beyond what any
// scenario takes on a slow machine.
const hangs = 3 * time.Hour

func (b *bench) playWith(ctx context.Context, sc scenario, who subject) (done []section, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hangs, fmt.Errorf("that did not happen within %s", hangs))
	defer cancel()
	s, err := b.newStage(ctx, who, sc.nodes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return sc.play(ctx, s)
}

// write writes what there is, whatever else has failed.
func (r report) write(opts options) error {
	var errs []error
	if opts.json != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			err = os.WriteFile(opts.json, append(text, '\n'), 0o600)
		}
		errs = append(errs, err)
	}
	if opts.picture != "" {
		errs = append(errs, r.drawCurve(opts.picture))
	}
	return errors.Join(errs...)
}

type scenario struct {
	name string
	// nodes are there for pods. Without them nothing is measured but the controller, and what
	// Kubernetes does about any new pod template.
	nodes int
	play  func(context.Context, *stage) ([]section, error)
}

// scenarios are all of them, in their order.
func scenarios() []scenario {
	return []scenario{
		{name: "fan-out", play: fanOut},
		{name: "gates", play: gates},
		{name: "latency", play: latency},
		{name: "followed", nodes: 2, play: tracked},
		{name: "restart", nodes: 2, play: restart},
		{name: "storm", play: storm},
		{name: "burst", play: burst},
		{name: "metadata", play: metadata},
		{name: "large", play: large},
		{name: "namespaces", play: namespaces},
		{name: "secrets", play: secretsAlone},
		{name: "start", play: startUp},
		{name: "soak", play: soak},
		{name: "curve", play: curve},
	}
}

// bench is what all scenarios share.
type bench struct {
	opts   options
	folder string
	binary string
}

// tell says what takes a while. The table alone goes to the standard output.
func (b *bench) tell(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func (b *bench) facts() []string {
	facts := []string{
		fmt.Sprintf("%d CPUs, load %s before the first scenario, %s, %s/%s", runtime.NumCPU(), load(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		"Kubernetes on this machine, a new one for each scenario; no nodes and 0 replicas but in followed and restart, etcd without fsync",
		fmt.Sprintf("%s %s, with the permissions of deploy/reroll.yaml; --settle=0 too in fan-out, gates, latency, large, namespaces, curve", filepath.Base(b.binary), strings.Join(unbounded(), " ")),
		b.opts.medians(),
	}
	if b.opts.peer != "" {
		facts = append(facts, "the peer: "+b.opts.peer)
	}
	return facts
}

// load is how many processes wanted a processor in the last minute, where that is to be had.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(text), " ")
	return average
}
