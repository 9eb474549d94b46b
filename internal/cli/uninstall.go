package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/uninstall"
)

// removing is the command that removes what a controller left behind after it ended.
type removing struct {
	readingCommand
	dryRun bool
}

func newUninstall(c clock.Clock) *cobra.Command {
	r := &removing{readingCommand: readingCommand{clock: c}}
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove what an uninstalled controller left on the cluster",
		Long: `Remove what Reroll left on the cluster, after the controller was uninstalled. Nothing is rolled, except that a Deployment
that Reroll paused is resumed, which rolls out its pending change.

  removed   the ledgers and other annotations that only Reroll writes, on workloads; the Lease stakater-reloader-lock, the
            Secret reroll-digest-key and the ConfigMap reloader-meta-info of the controller
  listed    change markers in pod templates, because to remove one would roll the workload; Jobs that Reroll was
            recreating, because you have to decide about them
  kept      your own annotations, such as reloader.stakater.com/auto and reroll.dev/settle

The Secret of a controller that ran outside of a cluster is found by its name. End that controller first.

All namespaces are cleaned, or one with --namespace. The command refuses to run while a controller runs that may watch them.
It uses your own permissions, continues after an object that fails, and can be repeated.

The exit code is 0 if all was cleaned, and 1 if something failed. With --dry-run, nothing is written.` + asTheController,
		Example: `  %[1]s uninstall --dry-run
  %[1]s uninstall
  %[1]s uninstall -n shop`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.all = !cmd.Flags().Changed("namespace")
			return r.run(cmd.Context(), cmd, cmd.OutOrStdout())
		},
	}
	r.bind(cmd, false)
	cmd.Flags().Lookup("namespace").Usage = "clean this namespace only (default: all namespaces)"
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "list what would be removed, and write nothing")
	r.complete(cmd)
	return cmd
}

func (r *removing) run(ctx context.Context, cmd *cobra.Command, out io.Writer) error {
	cluster, settings, err := r.settings(ctx, cmd)
	if err != nil {
		return err
	}
	connection, err := r.config()
	if err != nil {
		return err
	}
	client, err := metadata.NewForConfig(connection)
	if err != nil {
		return err
	}
	namespaces, alive, err := r.installations(ctx, cluster, client, out)
	switch {
	case err != nil:
		return err
	case alive != "" && !r.dryRun:
		return errors.New(alive + "; uninstall the controller first, then repeat this command")
	case alive != "":
		fmt.Fprintf(out, "Without --dry-run, this command would refuse: %s.\n", alive)
	}
	run := &uninstall.Run{Cluster: workloads{cluster, settings, r.namespace}, Names: settings.Rules.Names, DryRun: r.dryRun, Out: out}
	if err := run.Workloads(ctx); err != nil {
		return unreachable(err)
	}
	for _, ns := range namespaces {
		if r.all || ns == r.namespace {
			run.Own(ctx, client, ns)
		}
	}
	run.Summary()
	if run.Failed() > 0 {
		return fmt.Errorf("%d failed; repeat the command when the causes are gone", run.Failed())
	}
	return nil
}

// installations returns the namespaces with objects of a controller, and why one of these
// controllers may still run. A controller that ran outside of a cluster is found only by its key.
func (r *removing) installations(ctx context.Context, cluster *inspect.Cluster, client metadata.Interface, out io.Writer) (namespaces []string, alive string, err error) {
	namespaces, alive, err = cluster.Installations(ctx, r.at, r.namespace, r.clock)
	if err != nil || r.at != "" {
		return namespaces, alive, err
	}
	keys, partly, err := uninstall.Keys(ctx, client, r.namespace, cmp.Or(r.namespace, r.home))
	if err != nil {
		return nil, "", unreachable(err)
	}
	if partly && len(namespaces)+len(keys) == 0 {
		fmt.Fprintln(out, "You may not list Secrets in all namespaces. If a controller ran outside of a cluster, name the namespace of its Secret with --controller-namespace.")
	}
	for _, ns := range keys {
		if slices.Contains(namespaces, ns) {
			continue
		}
		namespaces = append(namespaces, ns)
		text := cluster.Undescribed(ctx, ns, r.clock)
		switch {
		case text != "" && alive != "":
			alive += "; " + text
		case text != "":
			alive = text
		default:
			fmt.Fprintf(out, "Namespace %s has the key of a controller, but not its ConfigMap. If that controller runs outside of the cluster, end it first.\n", ns)
		}
	}
	return namespaces, alive, nil
}

// workloads has the workloads that the command reads.
type workloads struct {
	*inspect.Cluster
	settings  *inspect.Settings
	namespace string
}

// EachWorkload reads the workloads once.
func (w workloads) EachWorkload(ctx context.Context, each func(kinds.Kind, runtime.Object)) ([]string, error) {
	return w.Cluster.EachWorkload(ctx, w.settings, w.namespace, each)
}
