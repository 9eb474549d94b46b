package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

func newWhy(getenv func(string) string, c clock.Clock) *cobra.Command {
	a := &readingCommand{clock: c}
	cmd := &cobra.Command{
		Use:   "why KIND/NAME [SOURCE]",
		Short: "Explain why a workload was or was not rolled",
		Long: `Explain which sources roll a workload and which do not, whether its Pods use their current data, and what happens next.

With a SOURCE, such as configmap/web, only that source is explained. A Pod (pod/web-5f7d8) selects its workload. The
answer follows the rules of the controller, with your own permissions. The command writes nothing.` + asTheController,
		Example: `  %[1]s why deployment/web
  %[1]s why pod/web-5f7d8c9b6-x2x9k
  %[1]s why -n shop statefulset/db secret/db-password`,
		Args: func(cmd *cobra.Command, args []string) error {
			first := args
			if joined, ok := inspect.KindThenName(args); ok {
				first = []string{joined}
			}
			if len(first) > 0 {
				if err := inspect.NotSource(first[0]); err != nil {
					return usageError{err}
				}
			}
			return between(1, 2, "a workload, such as deployment/web")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, objects, err := a.read(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			source := ""
			if len(args) == 2 {
				source = args[1]
			}
			workload := args[0]
			if pod, ok := inspect.PodOf(workload); ok {
				if workload, err = cluster.OwnerOf(cmd.Context(), objects.Settings(), a.namespace, pod); err != nil {
					return err
				}
			}
			x, err := objects.Explain(a.namespace, workload, source, cluster.Running(cmd.Context(), a.cfg.Names), c.Now())
			if err != nil {
				return err
			}
			x.Last = cluster.LastEvent(cmd.Context(), &x.Workload)
			x.Fields = cluster.FieldNotes(cmd.Context(), objects.Settings(), &x.Workload)
			out := cmd.OutOrStdout()
			return a.show(out, func() string { return x.Text(paint(out, getenv)) }, x.JSON)
		},
	}
	a.bind(cmd, false)
	a.bindOutput(cmd, outputJSON)
	a.complete(cmd, inspect.WorkloadResources(), inspect.Completed())
	return cmd
}

// between returns a check of the number of arguments, with a description of the first argument.
func between(least, most int, first string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		joined, split := inspect.KindThenName(args)
		switch {
		case len(args) < least:
			return usageError{fmt.Errorf("%s needs %s", cmd.CommandPath(), first)}
		case split:
			return usageError{fmt.Errorf("%s %s is one argument with a slash: write %s", args[0], args[1], joined)}
		case len(args) > most && most == 1:
			return usageError{fmt.Errorf("%s takes one argument, and got %q, too", cmd.CommandPath(), args[1])}
		case len(args) > most:
			return usageError{fmt.Errorf("%s takes no more than %d arguments, and got %q", cmd.CommandPath(), most, args[most])}
		default:
			return nil
		}
	}
}
