package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

// permanent is an answer that asking again will not change.
type permanent struct{ error }

// poll calls ready until it succeeds. It gives up when the context ends, gone is closed or the
// answer is permanent; what is then said is up to failed, which gets the last answer.
func poll(ctx context.Context, gone <-chan struct{}, ready func(context.Context) error, failed func(last error) error) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if p, ok := errors.AsType[permanent](err); ok {
			return p.error
		}
		select {
		case <-tick.C:
		case <-gone:
			return failed(err)
		case <-ctx.Done():
			return failed(err)
		}
	}
}

// insecureLoopback trusts the certificate that a component makes for itself at start, on an address
// nobody else has.
func insecureLoopback() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true} //nolint:gosec // loopback, a health check without content
}
