package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// untilNextLook is the time between two looks, if the first one was since ago and the last one took
// cost. Looking more often finds it earlier, not more surely: what could pass between two looks is
// kept by the observer. What is at hand costs nothing, and what took long may take a bit longer. An
// API server that many tests ask is busy for each of them, and then their questions delay what they
// wait for.
func untilNextLook(since, cost time.Duration) time.Duration {
	const (
		soonest = 100 * time.Millisecond
		latest  = time.Second
		share   = 25 // of the time, looks take at most one part in so many
		later   = 8  // found later by at most one part in so many of the time
	)
	return min(max(soonest, share*cost, since/later), latest)
}

// final is an answer that looking again will not change.
type final struct{ error }

// Unwrap lets errors.Is see what it is about.
func (f final) Unwrap() error { return f.error }

// lookWithin bounds a single look.
const lookWithin = 2 * time.Minute

// Await looks until there is no error any more. When the context ends, the error says what was
// awaited and how things stood. A look is not cut off by the end of the context, since that would
// tell nothing about what is looked at.
func Await(ctx context.Context, what string, look func(context.Context) error) error {
	began := time.Now()
	for {
		looked := time.Now()
		err := lookOnce(ctx, look)
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[final](err); ok {
			return fmt.Errorf("awaiting %s: %w", what, f.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("awaiting %s: %w: %w", what, context.Cause(ctx), err)
		case <-time.After(untilNextLook(time.Since(began), time.Since(looked))):
		}
	}
}

func lookOnce(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	return look(ctx)
}
