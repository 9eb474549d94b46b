package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

func await(ctx context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(1, 3), s.wantNoNegation()); err != nil {
		return err
	}
	if len(s.args) == 1 {
		return awaitAsked(ctx, s)
	}
	workload, err := harness.ParseRef(s.args[1])
	if err != nil {
		return err
	}
	switch {
	case s.args[0] == "rolled" && len(s.args) == 3:
		times, err := s.number(2)
		if err != nil {
			return err
		}
		return s.ns.AwaitRolls(ctx, workload, times)
	case s.args[0] == "pods" && len(s.args) == 3:
		wanted, err := s.number(2)
		if err != nil {
			return err
		}
		return s.ns.AwaitMade(ctx, workload, wanted)
	case s.args[0] == "ready" && len(s.args) == 2:
		return s.ns.AwaitReady(ctx, workload)
	case s.args[0] == "refused" && len(s.args) == 2:
		return s.ns.AwaitRefused(ctx, workload)
	case s.args[0] == "mutated" && len(s.args) == 3:
		return s.ns.AwaitMutated(ctx, workload, s.args[2])
	case s.args[0] == "fresh" && len(s.args) == 3:
		source, err := harness.ParseRef(s.args[2])
		if err != nil {
			return err
		}
		return s.ns.AwaitFresh(ctx, workload, source)
	case s.args[0] == "older" && len(s.args) == 3:
		age, err := time.ParseDuration(s.args[2])
		if err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		return s.ns.AwaitAge(ctx, workload, age)
	default:
		return errUsage
	}
}

// awaitAsked returns when the receiver was sent something since it was told what to do.
func awaitAsked(ctx context.Context, s *step) error {
	if s.args[0] != "asked" {
		return errUsage
	}
	if s.receiver == nil {
		return errNoReceiver
	}
	return harness.Await(ctx, "something to be sent to the receiver", func(context.Context) error {
		if s.receiver.Asked() == 0 {
			return errors.New("nothing was")
		}
		return nil
	})
}

func rolled(ctx context.Context, s *step) error {
	workload, expected, err := s.counted(ctx)
	if err != nil {
		return err
	}
	seen, err := s.ns.Rolls(ctx, workload)
	if err == nil && seen != expected {
		err = fmt.Errorf("%s was expected to have rolled %s, and has rolled %s", workload, times(expected), times(seen))
	}
	return err
}

// pods counts those that were made for a workload: a restart that leaves the template alone is no
// rollout.
func pods(ctx context.Context, s *step) error {
	workload, expected, err := s.counted(ctx)
	if err != nil {
		return err
	}
	made, err := s.ns.Made(ctx, workload)
	if err == nil && made != expected {
		err = fmt.Errorf("%d pods were expected to have been made for %s, and it was %d", expected, workload, made)
	}
	return err
}

// writes counts what the API server has taken from the controller's account. A write that changes
// nothing counts too.
func writes(ctx context.Context, s *step) error {
	object, expected, err := s.counted(ctx)
	if err != nil {
		return err
	}
	// No name but that of an object has a count.
	if _, err := s.ns.Get(ctx, object); err != nil {
		return err
	}
	// The API server notes a request after it has answered it.
	seen := 0
	err = harness.Await(ctx, fmt.Sprintf("the audit log to have %d writes to %s", expected, object), func(context.Context) error {
		var err error
		if seen, err = s.ns.Writes(s.setting.Cluster.AuditLog(), object); err == nil && seen < expected {
			err = fmt.Errorf("it has %d", seen)
		}
		return err
	})
	if err == nil && seen != expected {
		err = fmt.Errorf("%s was expected to have been written by the controller %s, and was written %s", object, times(expected), times(seen))
	}
	return err
}

// counted reads an object and a number, and returns when the count of whatever it is about can be
// told.
func (s *step) counted(ctx context.Context) (harness.Ref, int, error) {
	if err := errors.Join(s.wantArgs(2, 2), s.wantNoNegation()); err != nil {
		return harness.Ref{}, 0, err
	}
	object, err := harness.ParseRef(s.args[0])
	if err != nil {
		return harness.Ref{}, 0, err
	}
	expected, err := s.number(1)
	if err != nil {
		return harness.Ref{}, 0, err
	}
	return object, expected, s.decide(ctx)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

func quiet(ctx context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(0, 0), s.wantNoNegation()); err != nil {
		return err
	}
	if !s.running {
		return errors.New("no controller is running that could have something to decide")
	}
	return s.quiet(ctx)
}

// look tells how often something is there, and what is there instead of it.
type look func(context.Context) (count int, instead string, err error)

// expect compares what is there with what the step expects. Something is awaited if it is to be
// there; that it is not there, or not once more, can be said only after the markers.
func (s *step) expect(ctx context.Context, what string, look look) error {
	if s.not || s.count > 0 {
		if err := s.decide(ctx); err != nil {
			return err
		}
	}
	if s.not {
		count, _, err := look(ctx)
		if err == nil && count > 0 {
			err = fmt.Errorf("%s was expected not to be there, and is there %s", what, times(count))
		}
		return err
	}
	var last int
	err := harness.Await(ctx, what, func(ctx context.Context) error {
		count, instead, err := look(ctx)
		if err != nil {
			return err
		}
		if last = count; count < max(s.count, 1) {
			return fmt.Errorf("it is there %s; what is there: %s", times(count), instead)
		}
		return nil
	})
	if err == nil && s.count > 0 && last != s.count {
		err = fmt.Errorf("%s was expected to be there %s, and is there %s", what, times(s.count), times(last))
	}
	return err
}

// takeCount reads the option -count=N and takes it away.
func (s *step) takeCount() error {
	if len(s.args) == 0 {
		return nil
	}
	text, given := strings.CutPrefix(s.args[0], "-count=")
	if !given {
		return nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 || s.not {
		return fmt.Errorf("%w: -count=N takes a number above 0, and no negation", errUsage)
	}
	s.count, s.args = count, s.args[1:]
	return nil
}
