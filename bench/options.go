package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are how much is measured. There are many because each is a flag.
type options struct {
	fan, owners, edits        int // of the scenarios fan-out and latency
	followed                  int // followed
	missed                    int // restart
	stormy, stormEdits        int // storm
	larges, largeSize         int // large
	spaces                    int // namespaces
	unused                    int // secrets
	secrets, secretSize       int // start, as all that follow
	configMaps, configSize    int
	workloads                 int
	releases, releaseSize     int
	soaks                     int // soak
	crowds                    []int
	crowdEdits                int
	runs                      int // of each figure that gets a median
	idle                      time.Duration
	check                     bool
	only, json, picture, peer string
}

// size is one of the numbers, for a whole run and for a check.
type size struct {
	name        string
	at          *int
	whole, less int
	usage       string
}

// enough runs make a median. A check plays once, and so often only what is beyond a bound then.
const enough = 3

func (o *options) sizes() []size {
	return []size{
		{"fan", &o.fan, 1000, 100, "Deployments that use one ConfigMap"},
		{"owners", &o.owners, 5000, 100, "Deployments with a ConfigMap each"},
		{"edits", &o.edits, 200, 40, "ConfigMaps of those that are changed one at a time"},
		{"followed", &o.followed, 200, 20, "workloads with a pod each whose ConfigMaps are changed"},
		{"missed", &o.missed, 1000, 100, "changes while the controller is away"},
		{"storm-workloads", &o.stormy, 500, 50, "workloads of a storm, and of the soak"},
		{"storm-edits", &o.stormEdits, 5000, 500, "edits of a storm"},
		{"large", &o.larges, 20, 5, "large ConfigMaps that are changed one at a time"},
		{"large-size", &o.largeSize, 1<<20 - 1<<10, 1<<20 - 1<<10, "bytes in each of them"},
		{"namespaces", &o.spaces, 200, 20, "namespaces, with five workloads each"},
		{"unused", &o.unused, 10000, 500, "Secrets that nothing uses"},
		{"secrets", &o.secrets, 20000, 1000, "Secrets that are there at a start"},
		{"secret-size", &o.secretSize, 20 << 10, 20 << 10, "bytes in each of them, and of those that nothing uses"},
		{"configmaps", &o.configMaps, 15000, 750, "ConfigMaps that are there at a start"},
		{"configmap-size", &o.configSize, 4 << 10, 4 << 10, "bytes in each of them"},
		{"workloads", &o.workloads, 5000, 250, "workloads that are there at a start"},
		{"releases", &o.releases, 2000, 100, "Secrets of Helm releases that are there at a start"},
		{"release-size", &o.releaseSize, 200 << 10, 200 << 10, "bytes in each of them"},
		{"soak", &o.soaks, 100000, 2000, "edits of the soak"},
		{"curve-edits", &o.crowdEdits, 300, 30, "changes at each point of the curve"},
		{"runs", &o.runs, enough, 1, "how often each figure is measured that gets a median"},
	}
}

// readOptions reads the command line.
func readOptions(flags *flag.FlagSet, args []string) (options, error) {
	var o options
	for _, n := range o.sizes() {
		flags.IntVar(n.at, n.name, 0, fmt.Sprintf("%s (%d; with -check %d)", n.usage, n.whole, n.less))
	}
	crowds := flags.String("curve", "", "the numbers of workloads of the curve (1000,5000,20000; with -check 200,1000)")
	flags.DurationVar(&o.idle, "idle", 0, "how long it is watched doing nothing (1m; with -check 15s)")
	flags.BoolVar(&o.check, "check", false, "play less of everything, and fail when a figure is beyond twice its target")
	flags.StringVar(&o.only, "only", "", "play these scenarios alone, with commas between: "+strings.Join(names(), ", "))
	flags.StringVar(&o.json, "json", "", "write the figures to this file too")
	flags.StringVar(&o.picture, "picture", "", "draw the curve into this file, as SVG")
	flags.StringVar(&o.peer, "peer", "", "the command line of another controller that does the same work; it is given KUBECONFIG")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, n := range o.sizes() {
		if !given[n.name] {
			*n.at = n.whole
			if o.check {
				*n.at = n.less
			}
		}
	}
	if !given["idle"] {
		o.idle = time.Minute
		if o.check {
			o.idle = 15 * time.Second
		}
	}
	if !given["curve"] {
		*crowds = "1000,5000,20000"
		if o.check {
			*crowds = "200,1000"
		}
	}
	var err error
	o.crowds, err = readCrowds(*crowds)
	return o, errors.Join(err, o.validate())
}

func readCrowds(text string) ([]int, error) {
	var crowds []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || len(crowds) > 0 && n <= crowds[len(crowds)-1] {
			return nil, fmt.Errorf("-curve=%s: must be numbers that grow, such as 1000,5000", text)
		}
		crowds = append(crowds, n)
	}
	return crowds, nil
}

// medians says of how many runs they are.
func (o options) medians() string {
	if o.runs == 1 {
		return fmt.Sprintf("one run of each; medians of %d where one is beyond a bound, in brackets the least and the most", enough)
	}
	return fmt.Sprintf("medians of %d runs, in brackets the least and the most", o.runs)
}

func names() []string {
	var all []string
	for _, sc := range scenarios() {
		all = append(all, sc.name)
	}
	return all
}

func (o *options) plays(scenario string) bool {
	return o.only == "" || slices.Contains(strings.Split(o.only, ","), scenario)
}

func (o *options) validate() error {
	var errs []error
	for name := range strings.SplitSeq(o.only, ",") {
		if o.only != "" && !slices.Contains(names(), name) {
			errs = append(errs, fmt.Errorf("-only=%s: there is no scenario %q; there are %s", o.only, name, strings.Join(names(), ", ")))
		}
	}
	for _, n := range o.sizes() {
		if *n.at < 1 {
			errs = append(errs, fmt.Errorf("-%s=%d: must be 1 or more", n.name, *n.at))
		}
	}
	if o.edits > o.owners {
		errs = append(errs, fmt.Errorf("-owners=%d: must be as many as -edits at least", o.owners))
	}
	if o.idle <= 0 {
		errs = append(errs, fmt.Errorf("-idle=%s: must be more than 0, such as 60s", o.idle))
	}
	return errors.Join(errs...)
}
