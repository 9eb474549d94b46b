// Command picture makes docs/images/dashboard.svg: it lets two instances of the controller work and
// get into trouble for ten minutes on a throwaway cluster, scrapes them as a Prometheus does, and
// draws the panels of the shipped dashboard.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/dashboard"
	"github.com/reroll-dev/reroll/test/harness"
)

type options struct{ picture, keep, from string }

func main() {
	var opts options
	flag.StringVar(&opts.picture, "o", "", "the file to write, instead of docs/images/dashboard.svg")
	flag.StringVar(&opts.keep, "keep", "", "also write to this file what was scraped")
	flag.StringVar(&opts.from, "from", "", "play nothing, and draw what was kept in this file")
	flag.Parse()
	// The client library logs each watch that ends with its cluster.
	klog.SetLogger(logr.Discard())
	if err := run(opts); err != nil {
		fmt.Fprintf(os.Stderr, "The picture was not made: %v\n", err)
		os.Exit(1)
	}
}

func run(opts options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	folder, err := os.MkdirTemp("", "reroll-dashboard-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	// What can be wrong before ten minutes have passed is found before.
	shipped, err := dashboard.Shipped()
	if err != nil {
		return err
	}
	engine, err := dashboard.NewEngine(ctx, folder)
	if err != nil {
		return err
	}
	if opts.picture == "" {
		if opts.picture, err = dashboard.Picture(); err != nil {
			return err
		}
	}
	scrapes, err := scraped(ctx, opts, folder)
	if err != nil {
		return err
	}
	window := dashboard.Window{To: int64(length / time.Second), Step: scrapeEvery, Scrape: scrapeEvery, Namespace: namespace}
	answers, err := engine.Ask(ctx, shipped.Question(window, scrapes))
	if err != nil {
		return err
	}
	text, err := shipped.Draw(window, answers)
	if err != nil {
		return err
	}
	return os.WriteFile(opts.picture, []byte(text), 0o600)
}

// scraped plays, or reads what was kept from another time.
func scraped(ctx context.Context, opts options, folder string) (scrapes []dashboard.Scrape, err error) {
	if opts.from != "" {
		text, err := os.ReadFile(opts.from)
		if err != nil {
			return nil, err
		}
		return scrapes, json.Unmarshal(text, &scrapes)
	}
	if scrapes, err = onACluster(ctx, folder); err != nil || opts.keep == "" {
		return scrapes, err
	}
	text, err := json.Marshal(scrapes)
	if err != nil {
		return nil, err
	}
	return scrapes, os.WriteFile(opts.keep, text, 0o600)
}

func onACluster(ctx context.Context, folder string) (scrapes []dashboard.Scrape, err error) {
	if err := cluster.Supported(); err != nil {
		return nil, err
	}
	binary, err := harness.Build(ctx, folder, false)
	if err != nil {
		return nil, err
	}
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	p, err := begin(ctx, c, binary)
	if err != nil {
		return nil, err
	}
	defer p.end()
	return p.play(ctx)
}
