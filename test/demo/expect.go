package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/reroll-dev/reroll/test/harness"
)

var errDecided = errors.New("that has not happened, and Reroll has decided on everything by now")

// awaitDecided awaits what has to follow from what was done before. It does not go by the clock: it
// fails as soon as the markers show that the controller has decided on everything, and what was
// expected is still not there.
func (d *demo) awaitDecided(ctx context.Context, expected string, look func(context.Context) error) error {
	d.story.Expect(expected)
	waiting, over := context.WithCancelCause(ctx)
	defer over(nil)
	quiet := make(chan error, 1)
	go func() {
		err := d.namespace.Quiet(waiting)
		if err == nil {
			err = errDecided
		}
		over(err)
		quiet <- err
	}()
	err := harness.Await(waiting, expected, look)
	over(nil)
	decided := <-quiet
	if err == nil {
		return nil
	}
	if errors.Is(decided, errDecided) {
		// It may have come between the last look and the markers.
		if err = look(ctx); err == nil {
			return nil
		}
		err = fmt.Errorf("%w: %w", errDecided, err)
	}
	return fmt.Errorf("expected was %s: %w", expected, err)
}

// expectRolls returns when the controller has decided on everything that came before. Then the one
// Deployment has to have rolled this often, and the other never.
func (d *demo) expectRolls(ctx context.Context, wanted int, why string) error {
	d.story.Expect("Reroll to decide on all that came before")
	if err := d.namespace.Quiet(ctx); err != nil {
		return err
	}
	for _, expected := range []struct {
		name  string
		rolls int
		why   string
	}{
		{optedIn, wanted, why},
		{optedOut, 0, "nothing opts it in, so it is not to move"},
	} {
		rolls, err := d.namespace.Rolls(ctx, deployment(expected.name))
		if err != nil {
			return err
		}
		if rolls != expected.rolls {
			return fmt.Errorf("%s has rolled %s; expected was %s: %s", expected.name, times(rolls), times(expected.rolls), expected.why)
		}
	}
	return nil
}

func times(n int) string {
	switch n {
	case 0:
		return "not at all"
	case 1:
		return "once"
	default:
		return fmt.Sprintf("%d times", n)
	}
}
