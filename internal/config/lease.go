package config

import (
	"time"

	"github.com/spf13/pflag"
)

// Lease configures leader election.
type Lease struct {
	// HA reports whether other replicas are expected. Then the controller must not act without the
	// lease.
	HA                                   bool
	Duration, RenewDeadline, RetryPeriod time.Duration
}

func (l *Lease) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&l.HA, "enable-ha", false, "run several replicas with leader election; needs POD_NAME and POD_NAMESPACE")
	flags.DurationVar(&l.Duration, leaseDurationFlag, 15*time.Second, "how long a standby waits for a renewal before it acquires the lease")
	flags.DurationVar(&l.RenewDeadline, renewDeadlineFlag, 10*time.Second, "how long the leader acts without a renewal of the lease; must be shorter than the lease duration")
	flags.DurationVar(&l.RetryPeriod, retryPeriodFlag, 2*time.Second, "time between two renewals by the leader, and between two checks by a standby")
}

const (
	leaseDurationFlag = "leader-election-lease-duration"
	renewDeadlineFlag = "leader-election-renew-deadline"
	retryPeriodFlag   = "leader-election-retry-period"
)

// validate calls refuse for every mistake.
func (l *Lease) validate(podName, podNamespace string, refuse func(format string, args ...any)) {
	if l.HA && podName == "" {
		refuse("--enable-ha: POD_NAME is not set, which identifies each replica: set it from metadata.name, as the chart does")
	}
	if l.HA && podNamespace == "" {
		refuse("--enable-ha: POD_NAMESPACE is not set, the namespace of the lease: set it from metadata.namespace, as the chart does")
	}
	if l.RetryPeriod <= 0 {
		refuse("--%s=%s: must be more than 0, such as 2s", retryPeriodFlag, l.RetryPeriod)
	}
	if l.RenewDeadline <= l.RetryPeriod {
		refuse("--%s=%s is not longer than --%s=%s: it must be, because the leader has to retry a renewal before it stops; the defaults are 10s and 2s",
			renewDeadlineFlag, l.RenewDeadline, retryPeriodFlag, l.RetryPeriod)
	}
	if l.Duration <= l.RenewDeadline {
		refuse("--%s=%s is not longer than --%s=%s: it must be, because the leader has to stop before a standby acquires the lease; the defaults are 15s and 10s",
			leaseDurationFlag, l.Duration, renewDeadlineFlag, l.RenewDeadline)
	}
}
