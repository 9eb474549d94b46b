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

// showing is how the state of workloads is shown, and until when.
type showing struct {
	asking
	output string
	wait   time.Duration
	watch  bool
	name   string
	paint  inspect.Paint
	out    io.Writer
}

func newStatus(getenv func(string) string, c clock.Clock) *cobra.Command {
	s := &showing{asking: asking{clock: c}}
	cmd := &cobra.Command{
		Use:   "status [KIND/NAME]",
		Short: "Show whether Pods use the current data of their ConfigMaps and Secrets",
		Long: `Show for each workload that is opted in whether its Pods use the current data of its ConfigMaps and Secrets.

The exit code is 0 if all workloads are up to date, 1 if one is not, and 2 if that is unknown. A workload is unknown if you
lack the permission to read what it depends on.

With --wait, the command returns as soon as all workloads are up to date, or after that time. With --watch, it runs until
it is interrupted, and reports changes of state.` + asTheController,
		Example: `  %[1]s status
  %[1]s status -A -o wide
  %[1]s status -n shop deployment/web --wait 5m`,
		Args: between(0, 1, ""),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				s.name = args[0]
			}
			if err := s.check(); err != nil {
				return err
			}
			s.out = cmd.OutOrStdout()
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
	flags.StringVarP(&s.output, "output", "o", "", "wide or json")
	flags.DurationVar(&s.wait, "wait", 0, "how long to wait at most until all workloads are up to date")
	flags.BoolVarP(&s.watch, "watch", "w", false, "keep running, and report changes of state")
	s.complete(cmd, inspect.WorkloadResources())
	return cmd
}

func (s *showing) check() error {
	switch {
	case s.output != "" && s.output != "wide" && s.output != "json":
		return usageError{fmt.Errorf("--output=%s: must be wide or json", s.output)}
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
	return status.Code(), s.show(status)
}

func (s *showing) show(status *inspect.Status) error {
	text := status.Text(s.paint, s.output == "wide")
	if s.output == "json" {
		var err error
		if text, err = status.JSON(); err != nil {
			return err
		}
	}
	_, err := fmt.Fprint(s.out, text)
	return err
}

// follow reads the cluster again whenever something has changed.
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
	err = cluster.Follow(ctx, settings, s.namespace, s.clock, func(objects *inspect.Objects) (bool, error) {
		// What is asked at the end of the time is still answered.
		status, err := objects.Status(s.namespace, s.name, cluster.Running(whole, s.cfg.Names), s.clock.Now())
		if err != nil {
			return false, err
		}
		if s.watch && !status.Differs(last) {
			return false, nil
		}
		last = status
		if s.watch {
			return false, s.show(status)
		}
		return status.Code() == inspect.CodeUpToDate, nil
	})
	switch {
	case err != nil:
		return 0, err
	case last == nil:
		return 0, errors.New("nothing was read in that time")
	case s.watch:
		return last.Code(), nil
	default:
		return last.Code(), s.show(last)
	}
}
