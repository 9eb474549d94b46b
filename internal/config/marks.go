package config

import (
	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
)

// Marks configures the change markers.
type Marks struct {
	Strategy reload.StrategyChoice
	OnRevert reload.OnRevert
	Secrets  digest.SecretMarks

	strategy, onRevert, secrets string
}

func (m *Marks) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&m.strategy, "reload-strategy", "", "how a reload changes the pod template: env-vars, annotations, or auto, which is env-vars on Deployments, StatefulSets and DaemonSets and annotations on custom kinds (default: auto)")
	flags.StringVar(&m.onRevert, "on-revert", "stop", "what to do when another tool has reverted every mark and old Pods still run: stop, until the data changes again, or restart, which sets spec.restartAt of an Argo Rollout; see "+buildinfo.Doc("how-to/gitops.md#reverted"))
	flags.StringVar(&m.secrets, "secret-marks", "keyed", "digest in the mark of a Secret: keyed, from which values cannot be guessed, or sha1, as Reloader writes it")
}

// validate calls refuse for every mistake.
func (m *Marks) validate(refuse func(format string, args ...any)) {
	switch m.strategy {
	case "", "default", "auto":
		m.Strategy = reload.StrategyAuto
	case "env-vars":
		m.Strategy = reload.StrategyEnvVars
	case "annotations":
		m.Strategy = reload.StrategyAnnotations
	default:
		refuse("--reload-strategy=%s: must be auto, env-vars or annotations; default means auto", m.strategy)
	}
	switch m.onRevert {
	case "stop":
		m.OnRevert = reload.OnRevertStop
	case "restart":
		m.OnRevert = reload.OnRevertRestart
	default:
		refuse("--on-revert=%s: must be stop or restart", m.onRevert)
	}
	switch m.secrets {
	case "keyed":
		m.Secrets = digest.SecretMarksKeyed
	case "sha1":
		m.Secrets = digest.SecretMarksSHA1
	default:
		refuse("--secret-marks=%s: must be keyed or sha1", m.secrets)
	}
}
