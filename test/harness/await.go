package harness

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lookEvery is the time between two looks at something awaited. Looking more often finds it earlier, not more surely:
// what could pass between two looks is kept by the observer.
const lookEvery = 50 * time.Millisecond

// final is an answer that looking again will not change.
type final struct{ error }

// Unwrap lets errors.Is see what it is about.
func (f final) Unwrap() error { return f.error }

// lookWithin bounds a single look.
const lookWithin = 30 * time.Second

// Await looks until there is no error any more. When the context ends, the error says what was awaited and how
// things stood. A look is not cut off by the end of the context, since that would tell nothing about what is looked at.
func Await(ctx context.Context, what string, look func(context.Context) error) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
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
		case <-tick.C:
		}
	}
}

func lookOnce(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
	defer cancel()
	return look(ctx)
}
