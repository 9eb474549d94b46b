package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/test/certificates"
	"github.com/reroll-dev/reroll/test/harness"
)

// certify writes a new certificate into a TLS Secret. It is valid between two times, which are
// given as durations from now.
func certify(ctx context.Context, s *step) error {
	if err := s.changing(3, 3); err != nil {
		return err
	}
	ref, err := harness.ParseRef(s.args[0])
	if err != nil {
		return err
	}
	var times [2]time.Time
	for i, text := range s.args[1:] {
		from, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%w: %w", errUsage, err)
		}
		times[i] = time.Now().Add(from)
	}
	certificate, key, err := certificates.Make(times[0], times[1])
	if err != nil {
		return err
	}
	return s.ns.Edit(ctx, ref, "tls.crt="+string(certificate), "tls.key="+string(key))
}
