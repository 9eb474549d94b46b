package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/access"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/server"
	"github.com/reroll-dev/reroll/internal/web"
)

// showingPages is what reroll ui serves, and for whom.
type showingPages struct {
	readingCommand
	contexts []string
	port     int
	noOpen   bool
	build    buildinfo.Info
	// chosen has the flags with the settings that the user overrides.
	chosen *pflag.FlagSet
}

func newUI(build buildinfo.Info, c clock.Clock) *cobra.Command {
	p := &showingPages{readingCommand: readingCommand{clock: c, several: true}, build: build}
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show sources, workloads and Pods in a browser",
		Long: `Show in a browser which ConfigMaps and Secrets roll which workloads, what waits or has failed, and why.

The command serves pages on 127.0.0.1 until it is interrupted, and opens an address with a token that works once. The
pages have the answers of why, status and plan, and follow the cluster with your own permissions. The command writes
nothing to a cluster. Without --namespace, the pages show all namespaces if you may list workloads there, and otherwise
the namespace of the kubeconfig. With --context several times, they show several clusters.` + asTheController,
		Example: `  %[1]s ui
  %[1]s ui -n shop --port 8080 --no-open
  %[1]s ui --context east --context west`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.chosen = cmd.Flags()
			return p.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	p.bind(cmd, true)
	flags := cmd.Flags()
	flags.StringArrayVar(&p.contexts, "context", nil, "context of the kubeconfig; may be set several times")
	flags.IntVar(&p.port, "port", 0, "port on 127.0.0.1 (default: a free one)")
	flags.BoolVar(&p.noOpen, "no-open", false, "do not open a browser")
	p.complete(cmd)
	return cmd
}

func (p *showingPages) run(ctx context.Context, out io.Writer) error {
	views, follow, err := p.views()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)))
	if err != nil {
		return fmt.Errorf("listen on 127.0.0.1 (--port): %w", err)
	}
	var clusters []web.Cluster
	for _, view := range views {
		clusters = append(clusters, view)
	}
	local, link, err := access.NewLocal(listener.Addr().String(), p.clock)
	if err != nil {
		return err
	}
	options := web.Options{Build: p.build, Clock: p.clock, Own: true}
	if len(p.contexts) == 1 {
		options.Context = p.contexts[0]
	}
	pages := web.New(clusters, func(*http.Request) (web.Reader, error) { return self{}, nil }, options)
	served := server.On(listener, local.Protect(pages), "the pages")
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i, view := range views {
		running.Go(func() { follow[i](ctx) })
		running.Go(func() { view.Watch(ctx) })
	}
	fmt.Fprintf(out, "Open %s\nThe address works once. To end: Ctrl+C\n", link)
	if !p.noOpen {
		defer openBrowser(ctx, link)()
	}
	return served.Run(ctx)
}

// views returns a view of each cluster, and what follows it. A context that does not exist is a
// mistake. A cluster that does not answer is not: its view shows why.
func (p *showingPages) views() (views []*inspect.View, follow []func(context.Context), err error) {
	names := p.contexts
	if len(names) == 0 {
		names = []string{""}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return nil, nil, usageError{fmt.Errorf("--context %s is set twice; set each context once", name)}
		}
		one := readingCommand{clock: p.clock, kubeconfig: p.kubeconfig, context: name, at: p.at, namespace: p.namespace}
		connection, err := one.config()
		if err != nil {
			return nil, nil, err
		}
		inspect.ReadOnly(connection)
		cluster, err := inspect.NewCluster(connection)
		if err != nil {
			return nil, nil, err
		}
		pasted := name
		if len(names) == 1 {
			name = ""
		}
		view := inspect.NewView(name, p.clock)
		view.Paste(pasted)
		views = append(views, view)
		follow = append(follow, func(ctx context.Context) {
			view.Follow(ctx, func(ctx context.Context) (*inspect.Cluster, *inspect.Settings, string, error) {
				ns := p.scope(ctx, cluster, one.home)
				settings, err := p.settingsOf(ctx, cluster, ns)
				return cluster, settings, ns, err
			})
		})
	}
	return views, follow, nil
}

// scope returns the namespace to show, empty for all.
func (p *showingPages) scope(ctx context.Context, c *inspect.Cluster, home string) string {
	switch {
	case p.all:
		return ""
	case p.namespace != "":
		return p.namespace
	case c.MayListAll(ctx):
		return ""
	default:
		return home
	}
}

// settingsOf returns the settings of the controller of one cluster. Several clusters have several
// controllers, so each has flags of its own.
func (p *showingPages) settingsOf(ctx context.Context, c *inspect.Cluster, ns string) (*inspect.Settings, error) {
	var cfg config.Config
	flags := pflag.NewFlagSet("ui", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	var failed error
	p.chosen.Visit(func(f *pflag.Flag) {
		if flags.Lookup(f.Name) != nil {
			failed = errors.Join(failed, flags.Set(f.Name, f.Value.String()))
		}
	})
	if failed != nil {
		return nil, failed
	}
	return inspect.Ask(ctx, c.Interface, &cfg, flags, p.at, ns, p.clock.Now())
}
