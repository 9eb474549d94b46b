package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
)

func newPending(getenv func(string) string, c clock.Clock) *cobra.Command {
	a := &readingCommand{clock: c}
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "List the reloads that wait, and the commands that approve them",
		Long: `List the workloads whose reloads wait: for approval, the end of a freeze or of a halt, their window, their turn, or because they
were reloaded too often. For each of them, the list has the number of Pods, the time of the first change, and the reason.

The exit code is 0, or 2 if the list may be incomplete because you lack a permission.` + asTheController,
		Example: `  %[1]s pending
  %[1]s pending -A
  %[1]s pending -n shop -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cluster, objects, err := a.read(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			status, err := objects.Status(a.namespace, "", cluster.Running(cmd.Context(), a.cfg.Names), c.Now())
			if err != nil {
				return err
			}
			out, pending := cmd.OutOrStdout(), status.Pending()
			if err := a.show(out, func() string { return pending.Text(paint(out, getenv)) }, pending.JSON); err != nil {
				return err
			}
			if code := pending.Code(); code != 0 {
				return exitError{code: code}
			}
			return nil
		},
	}
	a.bind(cmd, true)
	a.bindOutput(cmd, outputJSON)
	a.complete(cmd)
	return cmd
}
