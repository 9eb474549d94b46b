package config

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/policy"
)

// Gates are the settings for when reloads may start.
type Gates struct {
	// Churn is how often each workload may be reloaded, unless an annotation says otherwise.
	Churn policy.Limit
}

func (g *Gates) bindFlags(flags *pflag.FlagSet) {
	g.Churn = defaultChurn()
	flags.Var((*limitValue)(&g.Churn), "churn", "how often each workload may be reloaded: 30/1h allows 30 reloads in quick succession, and then one every 2 minutes (1h/30); changes in between wait, and the newest data is rolled; off for no limit")
}

// defaultChurn stops a program that writes a source in a loop, and no user who edits one by hand.
func defaultChurn() policy.Limit { return policy.Limit{Reloads: 30, Within: time.Hour} }

// limitValue is the flag for a limit.
type limitValue policy.Limit

// String implements pflag.Value.
func (l *limitValue) String() string { return policy.Limit(*l).String() }

// Set implements pflag.Value.
func (l *limitValue) Set(text string) error {
	limit, err := policy.ParseLimit(text)
	if err == nil {
		*l = limitValue(limit)
	}
	return err
}

// Type implements pflag.Value.
func (l *limitValue) Type() string { return "limit" }
