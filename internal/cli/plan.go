package cli

import (
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

func newPlan(getenv func(string) string, c clock.Clock) *cobra.Command {
	a := &readingCommand{clock: c}
	cmd := &cobra.Command{
		Use:   "plan SOURCE",
		Short: "List the workloads that a change of a ConfigMap or Secret rolls",
		Long: `List the workloads that a change of a ConfigMap or Secret rolls, with the rule for each, and the workloads that use it but
are not rolled. The source need not exist. The exit code is 2 if you may not read something that affects the answer.` + asTheController,
		Example: `  %[1]s plan configmap/web
  %[1]s plan -n shop secret/db-password`,
		Args: between(1, 1, "a source, such as configmap/web"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, objects, err := a.read(cmd.Context(), cmd)
			if err != nil {
				return err
			}
			plan, err := objects.Plan(a.namespace, args[0], cluster.Running(cmd.Context(), a.cfg.Names), c.Now())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if err := a.show(out, func() string { return plan.Text(paint(out, getenv)) }, plan.JSON); err != nil {
				return err
			}
			if code := plan.Code(); code != 0 {
				return exitError{code: code}
			}
			return nil
		},
	}
	a.bind(cmd, false)
	a.bindOutput(cmd, outputJSON)
	a.complete(cmd, inspect.Completed())
	return cmd
}
