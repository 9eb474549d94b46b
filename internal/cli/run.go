package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/permissions"
	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/server"
)

func newRun(build buildinfo.Info, getenv func(string) string, stderr io.Writer) *cobra.Command {
	var cfg config.Config
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the controller (the default in the image)",
		Long: `Run the controller.

In a Pod, it uses the ServiceAccount of the Pod, elsewhere the kubeconfig (KUBECONFIG, ~/.kube/config). Before it writes
anything, it logs where it keeps its own objects, the cluster, the user, and how many workloads are opted in.`,
		Args: noArgs,
		PreRunE: func(*cobra.Command, []string) error {
			cfg.ReadEnvironment(getenv)
			if err := cfg.Validate(); err != nil {
				return usageError{err}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			started := keepSmall(cmd.Context(), getenv, os.DirFS(cgroups))
			return run(cmd.Context(), &cfg, cmd.Flags(), build, cfg.Logger(stderr), started)
		},
	}
	cfg.BindFlags(cmd.Flags())
	cmd.SetUsageFunc(groupedUsage)
	return cmd
}

func run(ctx context.Context, cfg *config.Config, flags *pflag.FlagSet, build buildinfo.Info, log *slog.Logger, started func()) error {
	log.Info("starting reroll", "version", build.Version, "commit", build.Commit)
	for _, warning := range cfg.Warnings {
		log.Warn(warning)
	}
	if cfg.SyncAfterRestart {
		log.Info("--sync-after-restart has no effect: Reroll always detects changes that were made while the controller was down")
	}
	p, err := newProcess(ctx, cfg, build, log)
	if err != nil {
		return err
	}
	p.started = started
	http, err := server.Listen(cfg.ListenAddress, p.metrics.Registry(), p.ready)
	if err != nil {
		return err
	}
	log.Info("serving", "address", http.Address())
	profiles, err := listenProfiles(cfg, log)
	if err != nil {
		return err
	}
	servers := []*server.Server{http}
	if profiles != nil {
		servers = append(servers, profiles)
	}
	if p.ui, err = p.newUI(flags); err != nil {
		return err
	}
	if p.ui != nil {
		servers = append(servers, p.ui.server)
	}
	if err := p.run(ctx, servers, cfg.Options(flags)); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// process is the controller with what it reports to and what watches over it.
type process struct {
	cfg     *config.Config
	build   buildinfo.Info
	log     *slog.Logger
	client  clientset.Interface
	guard   *permissions.Guard
	metrics *report.Metrics
	events  *report.Events
	alerts  *report.Alerts
	leader  leadership
	ctl     *controller.Controller
	where   place
	// ui is nil if no UI is served.
	ui *ui
	// covered is closed when it is known since when the settings apply.
	covered chan struct{}
	// started is called when everything has been read.
	started func()
}

func newProcess(ctx context.Context, cfg *config.Config, build buildinfo.Info, log *slog.Logger) (*process, error) {
	where, err := connect(cfg, os.DirFS(serviceAccount))
	if err != nil {
		return nil, err
	}
	where.logState(cfg, log)
	where.config.UserAgent = "reroll/" + build.Version
	p := &process{cfg: cfg, build: build, log: log, covered: make(chan struct{})}
	p.guard = permissions.NewGuard(needed(cfg, where.namespace), clock.RealClock{}, log)
	where.config.Wrap(p.guard.Over)
	if p.client, err = clientset.NewForConfig(where.config); err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	urgent, err := unlimited(where.config)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	p.metrics = report.NewMetrics(report.MetricOptions{Kinds: kindNames(cfg.Kinds), ByNamespace: cfg.CountByNamespace, Build: build})
	p.metrics.CountRequests()
	p.events = report.NewEvents(p.client, clock.RealClock{}, log, cmp.Or(cfg.PodName, "reroll"))
	p.alerts = newAlerts(cfg, log, p.metrics)
	p.leader, p.where = newLeadership(cfg, urgent, log), where
	p.newController(ctx, where)
	return p, nil
}

func (p *process) newController(ctx context.Context, where place) {
	cfg, log, wall := p.cfg, p.log, clock.RealClock{}
	var acting atomic.Pointer[func() bool]
	p.ctl = controller.New(controller.Options{
		Settings: cfg.Rules(), Namespace: where.namespace, AdoptRate: cfg.AdoptRate, DryRun: cfg.DryRun, Classes: cfg.CSI,
		Receiver: newReceiver(cfg, log, p.events, p.metrics), GateURL: newGateURL(cfg, log),
		LoadKey: func(ctx context.Context) (digest.Key, time.Time, error) {
			return loadKey(ctx, p.client, where.namespace, cfg.DryRun, wall, log)
		},
		Halts:        newHalts(p.client, cfg),
		Freezes:      newFreezes(p.client, cfg),
		LoadCoverage: loadCoverage(p.client, cfg, wall, log, p.covered),
		Introduce:    func(workloads, optedIn int) { introduce(ctx, log, p.client, cfg, where, workloads, optedIn) },
		Lead: func(ctx context.Context, another func()) (func() bool, error) {
			leads, err := p.leader.lead(ctx, another)
			if err == nil {
				acting.Store(&leads)
			}
			return leads, err
		},
	}, kubeapi.Client{Interface: p.client, Custom: kubeapi.NewCustomClients(where.config, p.client, wall)}, wall, log, report.New(log, p.events, p.metrics, p.alerts, cfg.DryRun), p.metrics)
	p.events.GiveWayTo(p.ctl.Writing)
	p.metrics.WatchDepth(p.ctl.Depth)
	p.metrics.WatchRollouts(p.ctl.RolloutsInProgress)
	p.metrics.WatchMissing(p.ctl.LackingSource)
	p.metrics.WatchHeld(p.ctl.HeldBy)
	p.metrics.WatchStopped(p.ctl.StoppedSources)
	p.metrics.WatchHalted(p.ctl.ReloadsHalted)
	p.metrics.WatchState(func() bool { return p.ready() == nil }, func() bool {
		leads := acting.Load()
		return leads != nil && !cfg.DryRun && (*leads)()
	})
}

func (p *process) ready() error { return ready(p.guard, p.ctl) }

// run returns when the controller has ended. A part that fails ends the others; the events and
// alerts that are left go out when nothing makes new ones.
func (p *process) run(ctx context.Context, servers []*server.Server, options map[string]any) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	worked, published := make(chan struct{}), make(chan struct{})
	for _, s := range servers {
		running.Go(func() {
			if err := s.Run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	if p.ui != nil {
		running.Go(func() { p.ui.view.Watch(ctx) })
	}
	running.Go(func() { p.guard.Run(ctx, p.client) })
	running.Go(func() { warnOfMissingNamespaces(ctx, p.client, p.cfg.Namespaces, p.log) })
	running.Go(func() {
		defer close(published)
		p.events.Run(worked)
	})
	running.Go(func() {
		writeMetaInfo(ctx, p.covered, p.client, p.cfg, options, p.build, p.ctl.Instance, p.log)
	})
	running.Go(func() { p.alerts.Run(published) }) // some alerts follow an event
	// A standby has synced caches, and reconciles nothing yet.
	running.Go(func() {
		afterStart(ctx, clock.RealClock{}, p.ctl.Ready, p.started, func() bool { return p.ctl.Depth() == 0 })
	})
	running.Go(func() { p.leader.watch(ctx, cancel) })
	err := p.ctl.Run(ctx)
	p.leader.release()
	close(worked)
	cancel(err)
	running.Wait()
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

func kindNames(all kinds.Set) []string {
	var names []string
	for _, kind := range all {
		names = append(names, kind.Name)
	}
	return names
}

// listenProfiles returns nil if no profiles are to be served.
func listenProfiles(cfg *config.Config, log *slog.Logger) (*server.Server, error) {
	if !cfg.PProf {
		return nil, nil
	}
	profiles, err := server.ListenProfiles(cfg.PProfAddress)
	if err == nil {
		log.Info("serving profiles", "address", profiles.Address(), "path", "/debug/pprof/")
	}
	return profiles, err
}

// newAlerts returns nil if none are to be sent.
func newAlerts(cfg *config.Config, log *slog.Logger, metrics *report.Metrics) *report.Alerts {
	cfg.Alerts.Warn(log)
	if !cfg.Alerts.On || cfg.DryRun {
		return nil
	}
	alerts := report.NewAlerts(report.AlertOptions{
		Sink: cfg.Alerts.Sink, URL: cfg.Alerts.URL, Proxy: cfg.Alerts.Proxy, Info: cfg.Alerts.Info,
	}, clock.RealClock{}, log, metrics)
	log.Info("sending an alert for each reload", "receiver", alerts.Receiver(), "sink", cfg.Alerts.Sink)
	return alerts
}

// newReceiver returns nil if workloads are reloaded.
func newReceiver(cfg *config.Config, log *slog.Logger, events *report.Events, metrics *report.Metrics) controller.Receiver {
	if cfg.Webhook == nil {
		return nil
	}
	webhook := report.NewWebhook(cfg.Webhook, log, events, metrics)
	log.Info("reloading nothing: a webhook receiver is notified of changes instead", "receiver", webhook.Receiver())
	return webhook
}

// newGateURL returns nil if nothing outside of the cluster is asked before a reload.
func newGateURL(cfg *config.Config, log *slog.Logger) controller.GateURL {
	if cfg.Gates.URL == nil || cfg.Webhook != nil || cfg.DryRun {
		return nil
	}
	gateURL := report.NewGateURL(cfg.Gates.URL)
	log.Info("asking before each reload whether it may start (--gate-url)", "url", gateURL.Receiver())
	return gateURL
}

// introduce logs, before anything is written, what the controller is about to manage. A user who
// runs this by hand may have meant another cluster.
func introduce(ctx context.Context, log *slog.Logger, client clientset.Interface, cfg *config.Config, where place, workloads, optedIn int) {
	args := []any{"workloads", workloads, "optedIn", optedIn}
	if len(cfg.Namespaces) > 0 {
		args = append(args, "namespaces", cfg.Namespaces)
	} else {
		args = append(args, "namespaces", "all")
	}
	if !cfg.InPod {
		user := "unknown"
		review, err := client.SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil {
			user = review.Status.UserInfo.Username
		}
		args = append(args, "context", where.context, "user", user)
	}
	if cfg.DryRun {
		args = append(args, "dryRun", true)
	}
	log.Info("watching", args...)
}
