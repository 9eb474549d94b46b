package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

func newPlan(getenv func(string) string, c clock.Clock) *cobra.Command {
	a := &asking{clock: c}
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
			if _, err := fmt.Fprint(cmd.OutOrStdout(), plan.Text(paint(cmd.OutOrStdout(), getenv))); err != nil {
				return err
			}
			if code := plan.Code(); code != 0 {
				return exitError{code: code}
			}
			return nil
		},
	}
	a.bind(cmd, false)
	a.complete(cmd, inspect.SourceResources())
	return cmd
}
