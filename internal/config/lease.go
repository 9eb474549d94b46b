package config

import (
	"time"

	"github.com/spf13/pflag"
)

// Lease is how the lease is held by which one instance acts at a time.
type Lease struct {
	// HA says that other instances are meant to be there, so that to act without the lease is out of the question.
	HA                                   bool
	Duration, RenewDeadline, RetryPeriod time.Duration
}

func (l *Lease) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&l.HA, "enable-ha", false, "run with several replicas, of which one acts; needs POD_NAME and POD_NAMESPACE")
	flags.DurationVar(&l.Duration, leaseDurationFlag, 15*time.Second, "how long a standby waits for a sign of life before it takes the lease")
	flags.DurationVar(&l.RenewDeadline, renewDeadlineFlag, 10*time.Second, "how long the holder acts without having renewed the lease; shorter than the lease lasts")
	flags.DurationVar(&l.RetryPeriod, retryPeriodFlag, 2*time.Second, "the time between two renewals, and between two looks of a standby")
}

const (
	leaseDurationFlag = "leader-election-lease-duration"
	renewDeadlineFlag = "leader-election-renew-deadline"
	retryPeriodFlag   = "leader-election-retry-period"
)

// validate calls refuse for every mistake.
func (l *Lease) validate(podName, podNamespace string, refuse func(format string, args ...any)) {
	if l.HA && podName == "" {
		refuse("--enable-ha: POD_NAME is not set, by which the replicas tell each other apart: set it from metadata.name, as the chart does")
	}
	if l.HA && podNamespace == "" {
		refuse("--enable-ha: POD_NAMESPACE is not set, where the lease of all replicas is: set it from metadata.namespace, as the chart does")
	}
	if l.RetryPeriod <= 0 {
		refuse("--%s=%s: must be more than 0, such as 2s", retryPeriodFlag, l.RetryPeriod)
	}
	if l.RenewDeadline <= l.RetryPeriod {
		refuse("--%s=%s is not longer than --%s=%s: the holder has to try more than once before it gives up, so it must be; 10s and 2s are the defaults",
			renewDeadlineFlag, l.RenewDeadline, retryPeriodFlag, l.RetryPeriod)
	}
	if l.Duration <= l.RenewDeadline {
		refuse("--%s=%s is not longer than --%s=%s: the holder has to stop before another takes over, so it must be; 15s and 10s are the defaults",
			leaseDurationFlag, l.Duration, renewDeadlineFlag, l.RenewDeadline)
	}
}
