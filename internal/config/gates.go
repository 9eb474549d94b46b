package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/window"
)

// Gates are the settings for when reloads may start.
type Gates struct {
	// Churn is how often each workload may be reloaded, unless an annotation says otherwise.
	Churn policy.Limit
	// Window are the windows in which workloads may be reloaded, unless annotations set others.
	Window string
	// Approval reports whether each reload has to be approved.
	Approval bool
	// URL is the address of --gate-url, which is asked before each reload, or nil. It may contain a
	// token, so it is never shown completely.
	URL     *url.URL
	gateURL string
	// Keys is which keys of a source count, unless annotations say otherwise.
	Keys policy.KeyMode
	// Mode is what follows from a change, unless annotations say otherwise.
	Mode policy.Mode
	// Waves are how workloads are rolled one after the other, unless annotations say otherwise.
	Waves annotations.Waves
	// Halt is how many of the latest reloads have to fail until no further one starts.
	Halt gate.Halt
}

func (g *Gates) bindFlags(flags *pflag.FlagSet) {
	g.Churn = defaultChurn()
	flags.Var((*limitValue)(&g.Churn), "churn", "how often each workload may be reloaded: 30/1h allows 30 reloads in quick succession, and then one every 2 minutes (1h/30); changes in between wait, and the newest data is rolled; off for no limit")
	flags.Var((*windowValue)(&g.Window), "window", "when reloads may start, such as \"allow 22:00-04:00 mon-fri Europe/Berlin\" (default: at any time)")
	flags.Var((*approvalValue)(&g.Approval), "approval", "required if each reload waits until a user approves it with reroll approve (default: only where the annotation reroll.dev/approval requires it)")
	flags.StringVar(&g.gateURL, gateFlag, "", "URL to ask by GET before each reload, which starts if the response is 200, and waits otherwise: http://… or https://…")
	flags.Var((*keysValue)(&g.Keys), "keys", "which keys of a ConfigMap or Secret count: all, or only those that the Pod template uses: all or used")
	flags.Var((*modeValue)(&g.Mode), "mode", "what follows from a change: reload the workload, or only notify that its Pods are out of date: reload or notify")
	flags.Var((*shareValue)(&g.Waves.MaxRolling), "max-rolling", "how many of the workloads of a ConfigMap or Secret may roll at the same time: a number such as 5, or a percentage such as 10%, rounded down and at least 1 (default: all)")
	flags.DurationVar(&g.Waves.Soak, "soak", 0, "how long a workload has to stay available before others are rolled after it, if they wait for it")
	g.bindHalt(flags)
	flags.Int32Var(&g.Waves.MaxFailures, "max-failures", 0, "how many workloads may fail to roll out before no further one is rolled, if workloads are rolled one after the other")
}

// bindHalt adds the flag that concerns all workloads.
func (g *Gates) bindHalt(flags *pflag.FlagSet) {
	g.Halt = gate.DefaultHalt()
	flags.Var((*haltValue)(&g.Halt), "halt-when-failing", "how many of the latest reloads in the cluster have to fail until no further one starts: 50%/20 is half of the last 20, so ten; off to never halt")
}

// validate refuses values that the flags accept by themselves.
func (g *Gates) validate(refuse func(format string, args ...any)) {
	if to := strings.TrimSpace(g.gateURL); to != "" {
		var ok bool
		if g.URL, ok = address(to, "http", "https"); !ok {
			refuse("--%s is not a URL: write one such as https://host/path", gateFlag)
		}
	}
	if g.Waves.Soak < 0 {
		refuse("--soak=%s: must be 0 or more, such as 5m", g.Waves.Soak)
	}
	if g.Waves.MaxFailures < 0 {
		refuse("--max-failures=%d: must be 0 or more", g.Waves.MaxFailures)
	}
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

// windowValue is the flag for windows.
type windowValue string

// String implements pflag.Value.
func (w *windowValue) String() string { return string(*w) }

// Set implements pflag.Value.
func (w *windowValue) Set(text string) error {
	if text != "" {
		if _, err := window.Parse(text); err != nil {
			return err
		}
	}
	*w = windowValue(text)
	return nil
}

// Type implements pflag.Value.
func (w *windowValue) Type() string { return "window" }

// approvalValue is the flag for approval.
type approvalValue bool

// String implements pflag.Value.
func (v *approvalValue) String() string {
	if *v {
		return annotations.Required
	}
	return ""
}

// Set implements pflag.Value.
func (v *approvalValue) Set(text string) error {
	if text != "" && text != annotations.Required {
		return fmt.Errorf("write %q, or nothing", annotations.Required)
	}
	*v = text == annotations.Required
	return nil
}

// Type implements pflag.Value.
func (v *approvalValue) Type() string { return "approval" }

// keysValue is the flag for which keys count.
type keysValue policy.KeyMode

// String implements pflag.Value.
func (k *keysValue) String() string { return policy.KeyMode(*k).String() }

// Set implements pflag.Value.
func (k *keysValue) Set(text string) error {
	keys, err := policy.ParseKeyMode(text)
	if err == nil {
		*k = keysValue(keys)
	}
	return err
}

// Type implements pflag.Value.
func (k *keysValue) Type() string { return "keys" }

// modeValue is the flag for a mode.
type modeValue policy.Mode

// String implements pflag.Value.
func (m *modeValue) String() string { return policy.Mode(*m).String() }

// Set implements pflag.Value.
func (m *modeValue) Set(text string) error {
	mode, err := policy.ParseMode(text)
	if err == nil {
		*m = modeValue(mode)
	}
	return err
}

// Type implements pflag.Value.
func (m *modeValue) Type() string { return "mode" }

// haltValue is the flag for a percentage of a number of reloads.
type haltValue gate.Halt

// String implements pflag.Value.
func (h *haltValue) String() string { return gate.Halt(*h).String() }

// Set implements pflag.Value.
func (h *haltValue) Set(text string) error {
	halt, err := gate.ParseHalt(text)
	if err == nil {
		*h = haltValue(halt)
	}
	return err
}

// Type implements pflag.Value.
func (h *haltValue) Type() string { return "halt" }

// shareValue is the flag for a number or a percentage.
type shareValue annotations.Share

// String implements pflag.Value.
func (s *shareValue) String() string { return annotations.Share(*s).String() }

// Set implements pflag.Value.
func (s *shareValue) Set(text string) error {
	if text == "" {
		*s = shareValue{}
		return nil
	}
	share, err := annotations.ParseShare(text)
	if err == nil {
		*s = shareValue(share)
	}
	return err
}

// Type implements pflag.Value.
func (s *shareValue) Type() string { return "share" }
