package notice

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Often is how often a workload was reloaded in a short time, and which source changed in most of
// these reloads.
type Often struct {
	Reloads int
	Within  time.Duration
	Source  source.Key
	Changes int
}

// TooOften is about a workload that is reloaded again and again.
func TooOften(w *workload.Workload, often Often) Notice {
	src := often.Source
	within := often.Within.Round(time.Second)
	if within == 0 {
		within = often.Within.Round(time.Millisecond)
	}
	return warning(w, ReloadedOften, fmt.Sprintf("Reloaded %d times within %s: %s '%s' changed in %d of these reloads. Most likely this %s, or another program, writes the %s that it uses. "+
		"To stop: exclude it by the annotation %s: %s on this %s. To reload less often: set %s, such as 10m. "+
		"See %s",
		often.Reloads, within, src.Kind, src.Name, often.Changes, w.Key.Kind, src.Kind,
		excludeAnnotation(src.Kind), src.Name, w.Key.Kind, annotations.Settle,
		buildinfo.Doc("how-to/troubleshoot.md#a-workload-is-reloaded-again-and-again")))
}

func excludeAnnotation(kind source.Kind) string {
	names := annotations.DefaultNames()
	switch kind {
	case source.Secret:
		return names.SecretExclude
	case source.SecretProviderClass:
		return names.SPCExclude
	case source.ClusterTrustBundle:
		return annotations.ExcludeTrustBundles
	default:
		return names.ConfigMapExclude
	}
}
