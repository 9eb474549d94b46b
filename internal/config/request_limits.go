package config

import (
	"cmp"
	"math"

	"github.com/spf13/pflag"
)

// Requests limits the requests to the API server. The default is no limit, because the API server
// has priority and fairness.
type Requests struct {
	// QPS is the limit per second. 0 means no limit.
	QPS float32
	// Burst is the number of requests at once after a pause. If only QPS was given, Validate sets
	// it.
	Burst int
}

const (
	qpsFlag   = "kube-api-qps"
	burstFlag = "kube-api-burst"
	// leastQPS ensures that every worker can send a request well before it times out.
	leastQPS = 5
)

func (r *Requests) bindFlags(flags *pflag.FlagSet) {
	flags.Float32Var(&r.QPS, qpsFlag, 0, "maximum requests per second to the API server, without those for the lease; 0 for no limit")
	flags.IntVar(&r.Burst, burstFlag, 0, "maximum burst of requests, if there is a --"+qpsFlag+"; 0 for twice that")
}

// validate calls refuse for every mistake.
func (r *Requests) validate(refuse func(format string, args ...any)) {
	limited := r.QPS != 0
	if limited && !(r.QPS >= leastQPS && !math.IsInf(float64(r.QPS), 0)) {
		refuse("--%s=%g: must be 0 (no limit) or at least %d: with fewer, writes may time out before they are sent", qpsFlag, r.QPS, leastQPS)
	}
	switch {
	case r.Burst < 0:
		refuse("--%s=%d: must be 0 or more, such as 100", burstFlag, r.Burst)
	case r.Burst > 0 && !limited:
		refuse("--%s=%d has no effect without --%s: set that too, such as --%s=50", burstFlag, r.Burst, qpsFlag, qpsFlag)
	case limited:
		r.Burst = cmp.Or(r.Burst, int(2*r.QPS))
	}
}
