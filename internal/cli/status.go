package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// showing is how to show the state of workloads, and until when.
type showing struct {
	readingCommand
	wait  time.Duration
	watch bool
	// require reports whether it is an error if no workload is opted in.
	require bool
	name    string
	paint   inspect.Paint
	out     io.Writer
	// progress is where the command reports what it waits for.
	progress io.Writer
}

func newStatus(getenv func(string) string, c clock.Clock) *cobra.Command {
	s := &showing{readingCommand: readingCommand{clock: c}}
	cmd := &cobra.Command{
		Use:   "status [KIND/NAME]",
		Short: "Show whether Pods use the current data of their ConfigMaps and Secrets",
		Long: `Show for each workload that is opted in whether its Pods use the current data of its ConfigMaps and Secrets.

The exit code is 0 if all workloads are up to date, 1 if one is not, and 2 if that is unknown. A workload is unknown if you
lack the permission to read what it depends on. A rollout that has exceeded its deadline is stuck, which is not up to date.

With --wait, the command returns as soon as all workloads are up to date, or after that time. If no workload is opted in, it
returns at once with exit code 2, unless --require=false is set. With --watch, it runs until it is interrupted, and reports
changes of state.` + asTheController,
		Example: `  %[1]s status
  %[1]s status -A -o wide
  %[1]s status -n shop deployment/web --wait 5m`,
		Args: between(0, 1, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.require = s.require || s.wait > 0 && !cmd.Flags().Changed("require")
			s.out, s.progress = cmd.OutOrStdout(), cmd.ErrOrStderr()
			s.paint = paint(s.out, getenv)
			code, err := s.run(cmd.Context(), cmd)
			switch {
			case err != nil:
				return exitError{err.Error(), inspect.CodeUnknown}
			case code != inspect.CodeUpToDate:
				return exitError{code: code}
			default:
				return nil
			}
		},
	}
	s.bind(cmd, true)
	flags := cmd.Flags()
	s.bindOutput(cmd, outputWide, outputJSON)
	output := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			s.name = args[0]
		}
		return errors.Join(output(cmd, args), s.check())
	}
	flags.DurationVar(&s.wait, "wait", 0, "how long to wait at most until all workloads are up to date")
	flags.BoolVar(&s.require, "require", false, "exit with 2 if no workload is opted in (default with --wait: true)")
	flags.BoolVar(&s.requireController, "require-controller", false, "exit with 2 unless the controller runs, which takes some seconds to find out")
	flags.BoolVarP(&s.watch, "watch", "w", false, "keep running, and report changes of state")
	s.complete(cmd, inspect.WorkloadResources())
	return cmd
}

func (s *showing) check() error {
	switch {
	case s.wait < 0:
		return usageError{fmt.Errorf("--wait=%s: must be more than 0, such as 5m", s.wait)}
	case s.watch && s.wait > 0:
		return usageError{errors.New("--watch and --wait exclude each other: set one of them")}
	case s.all && s.name != "":
		return usageError{fmt.Errorf("%s is in one namespace: set --namespace instead of --all-namespaces", s.name)}
	default:
		return nil
	}
}

func (s *showing) run(ctx context.Context, cmd *cobra.Command) (int, error) {
	if s.wait > 0 || s.watch {
		return s.follow(ctx, cmd)
	}
	cluster, objects, err := s.read(ctx, cmd)
	if err != nil {
		return 0, err
	}
	status, err := objects.Status(s.namespace, s.name, cluster.Running(ctx, s.cfg.Names), s.clock.Now())
	if err != nil {
		return 0, err
	}
	status.Require, status.RequireController = s.require, s.requireController
	return status.Code(), s.show(status)
}

func (s *showing) show(status *inspect.Status) error {
	return s.readingCommand.show(s.out, func() string {
		wide := s.output == outputWide
		return status.Text(s.paint, inspect.Layout{Wide: wide, Cut: !wide && terminal(s.out)})
	}, status.JSON)
}

// follow reads the cluster again after each change.
func (s *showing) follow(ctx context.Context, cmd *cobra.Command) (int, error) {
	cluster, settings, err := s.settings(ctx, cmd)
	if err != nil {
		return 0, err
	}
	whole := ctx
	if s.wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.wait)
		defer cancel()
	}
	var last *inspect.Status
	for {
		found := false
		err := cluster.Follow(ctx, settings, s.namespace, s.clock, func(objects *inspect.Objects) (bool, error) {
			// Reads that are in flight when the time ends are still answered.
			status, err := objects.Status(s.namespace, s.name, cluster.Running(whole, s.cfg.Names), s.clock.Now())
			if err != nil {
				return false, err
			}
			status.Require, status.RequireController = s.require, s.requireController
			if s.watch && !status.Differs(last) {
				return false, nil
			}
			if !s.watch && last == nil && !status.Final() {
				fmt.Fprintf(s.progress, "Waiting up to %s for %s.\n", s.wait, status.Awaits())
			}
			last = status
			if s.watch {
				return false, s.show(status)
			}
			found = s.requireController && settings.Assumed != "" && cluster.Describes(whole, s.at, s.namespace)
			return found || status.Final(), nil
		})
		switch {
		case err != nil:
			return 0, err
		case !found:
			return s.conclude(whole, last)
		}
		// The settings of the controller that was found decide, not the assumed ones.
		if cluster, settings, err = s.settings(whole, cmd); err != nil {
			return 0, err
		}
	}
}

// conclude shows the last state that was read, and returns the exit code. whole ends if the user
// interrupts the command.
func (s *showing) conclude(whole context.Context, last *inspect.Status) (int, error) {
	switch {
	case last == nil:
		return 0, errors.New("nothing was read in that time")
	case s.watch:
		return last.Code(), nil
	case !last.Final() && whole.Err() == nil:
		fmt.Fprintf(s.progress, "Gave up after %s of waiting for %s.\n", s.wait, last.Awaits())
	}
	return last.Code(), s.show(last)
}
