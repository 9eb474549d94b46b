package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Settings are those of the selected controller, as far as they are known.
type Settings struct {
	*config.Config
	// Rules are those of them that decisions depend on.
	Rules rules.Settings
	// Controller is the namespace that it runs in, empty if it was not found.
	Controller string
	// Beside are the namespaces of other controllers that watch the same namespace, or may.
	Beside []string
	// Others are the namespaces of the controllers whose ConfigMap this one watches, by the IDs of their digest keys.
	Others map[string]string
	// Assumed is why the settings are those of the command line and the defaults; empty if the controller was found.
	Assumed string
	// Unmet reports whether they are assumed although the user named the namespace of the
	// controller.
	Unmet bool
	// Beyond are the flags that differ from the defaults.
	Beyond []string
	// Key makes the digests of Secrets, and NoKey is why there is none.
	Key   digest.Key
	NoKey string
	// Installed is when the controller came, as far as that shows.
	Installed time.Time
	// Coverage is since when it covers what it covers, as far as that shows.
	Coverage reload.Coverage
	// The sign shows whether the controller runs.
	sign
	// deployment is its name in the namespace of the controller, if it is known.
	deployment string
	// wanted says which controller was looked for.
	wanted wanted
}

// wanted is which controller was looked for.
type wanted struct {
	// watches is the namespace that it has to watch, empty if there was no choice.
	watches string
	// named reports whether the user named its namespace.
	named bool
	// partly reports whether the user may not look in all namespaces.
	partly bool
}

// Assume returns the settings of the command line and the defaults.
func Assume(cfg *config.Config, flags *pflag.FlagSet, now time.Time, why string) (*Settings, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Settings{Config: cfg, Rules: cfg.Rules(), Assumed: why, Beyond: config.Beyond(flags), NoKey: "its controller was not found", Installed: now}, nil
}

// Ask finds the controller and its settings by its ConfigMap. At is the namespace of the controller that the user named, and
// near the one that the command is about, empty for all; if several run, the one that watches that namespace counts.
func Ask(ctx context.Context, client kubernetes.Interface, cfg *config.Config, flags *pflag.FlagSet, at, near string, now time.Time) (*Settings, error) {
	found, why, err := written(ctx, client, at, near)
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	if len(found) == 0 {
		s, err := Assume(cfg, flags, now, why)
		if err == nil && at != "" {
			s.Controller, s.Unmet = at, true
			s.meet(ctx, client)
		}
		return s, err
	}
	var all []self
	var failed []error
	for i := range found {
		one, err := readSelf(&found[i])
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, errors.Join(failed...)
	}
	chosen, beside := choose(ctx, client, all, near, now)
	if err := config.Take(flags, chosen.options); err != nil {
		return nil, fmt.Errorf("read the settings in ConfigMap %s/%s: %w", chosen.namespace, metainfo.Name, err)
	}
	if chosen.foreign {
		return Assume(cfg, flags, now, fmt.Sprintf("ConfigMap %s/%s belongs to another program, such as Reloader; its settings are used", chosen.namespace, metainfo.Name))
	}
	s, err := Assume(cfg, flags, now, "")
	if err != nil {
		return nil, err
	}
	s.Controller, s.Installed, s.Coverage, s.Beside = chosen.namespace, chosen.made, chosen.coverage, beside
	s.deployment = chosen.deployment
	s.wanted = wanted{named: at != "", partly: why == partly}
	if len(all) > 1 {
		s.wanted.watches = near
	}
	s.Others = othersOf(all, &chosen)
	s.meet(ctx, client)
	return s, nil
}

// othersOf returns the other controllers that the chosen one knows.
func othersOf(all []self, chosen *self) map[string]string {
	others := map[string]string{}
	for i := range all {
		other := &all[i]
		if other.instance != "" && other.instance != chosen.instance && chosen.look(other.namespace, nil) != watchesOthers {
			others[other.instance] = other.namespace
		}
	}
	return others
}

// meet reads the key and the lease, as far as one may.
func (s *Settings) meet(ctx context.Context, client kubernetes.Interface) {
	key, made, err := controller.LoadDigestKey(ctx, client, s.Controller, true)
	switch {
	case apierrors.IsForbidden(err):
		s.NoKey = "you may not read the digest key of the controller"
	case err != nil:
		s.NoKey = err.Error()
	case made.IsZero():
		s.NoKey = "the controller has not created its digest key yet"
	default:
		s.Key, s.NoKey, s.Installed = key.Showing(s.Marks.Secrets), "", made
	}
	s.hear(ctx, client)
}

// hear reads the evidence of whether the controller runs.
func (s *Settings) hear(ctx context.Context, client kubernetes.Interface) {
	if s.Controller != "" {
		s.sign = listen(ctx, client, s.Controller, s.deployment)
	}
}

// reads reports whether the controller watches a kind of workload.
func (s *Settings) reads(kind string) bool { return s.Rules.ReadsKind(kind) }

// ignores reports whether the controller is configured not to read a kind of source.
func (s *Settings) ignores(kind source.Kind) bool {
	return slices.Contains(s.Rules.IgnoredSources, kind)
}

// asksFor reports whether a workload is opted in, and not by --auto-reload-all alone if the controller ignores its kind: then that
// is intended.
func (s *Settings) asksFor(w *workload.Workload) bool {
	return w.Policy.OptedIn(s.AutoReloadAll && s.reads(w.Key.Kind))
}

// unasked reports whether a custom kind is one that the controller watches only where it happens to be allowed to. Of Rollouts, which
// have a flag, more is expected.
func (s *Settings) unasked(w kubeapi.Watched) bool {
	kind, ok := s.Kinds.Of(w.Resource.Group, w.Kind)
	return ok && kind.Custom && kind.Use == kinds.WhenServed && !kind.HasWorkloadRef
}

// passesOver returns why the controller does not reconcile a workload, empty if it does.
func (s *Settings) passesOver(o *Objects, key workload.Key) string {
	switch {
	case s.reads(key.Kind):
	case slices.Contains(s.Ignored.Kinds, key.Kind):
		return "the controller ignores " + key.Kind + "s (--ignored-workload-types)"
	default:
		return "the controller does not roll Rollouts (--is-Argo-Rollouts=false)"
	}
	if o.workloads[key].Deleting {
		return "it is being deleted"
	}
	if parent, ok := o.parentOf(key); ok {
		if !o.workloads[parent].Policy.OptedIn(s.AutoReloadAll) {
			return fmt.Sprintf("its owner, %s, would be rolled instead, but is not opted in", parent)
		}
		return fmt.Sprintf("its owner, %s, is rolled instead", parent)
	}
	return s.leftOut(o, key.Namespace)
}

// leftOut returns why the controller does not watch a namespace, empty if it does.
func (s *Settings) leftOut(o *Objects, ns string) string {
	switch s.Rules.LeavesOut(ns, o.namespaces[ns]) {
	case rules.NotNamed:
		return "the controller watches other namespaces (--namespaces)"
	case rules.Ignored:
		return "the controller ignores namespace " + ns + " (--namespaces-to-ignore)"
	case rules.NotSelected:
		return "the labels of namespace " + ns + " do not match --namespace-selector"
	case rules.Terminating:
		return "namespace " + ns + " is being deleted"
	default:
		return ""
	}
}
