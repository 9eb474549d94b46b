package inspect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/clientset"
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

// Settings are the known settings of the selected controller. There are many fields because they
// also say where the settings were found, and what is unknown about them.
type Settings struct {
	// Rules are the settings that decisions depend on. The configuration that they come from is not
	// kept, so no answer can follow a flag where the controller follows a rule.
	Rules rules.Settings
	// Controller is the namespace of the controller, or empty if no controller was found.
	Controller string
	// Beside are the namespaces of other controllers that watch the same namespace, or may watch
	// it.
	Beside []string
	// Others are the namespaces of the controllers whose ConfigMap the selected one watches, by the
	// IDs of their digest keys.
	Others map[string]string
	// Assumed is the reason why the settings are those of the command line and the defaults. It is
	// empty if the controller was found.
	Assumed string
	// Unmet reports whether the settings are assumed although the user named the namespace of the
	// controller.
	Unmet bool
	// Beyond are the flags that differ from the defaults.
	Beyond []string
	// Key is the key for the digests of Secrets, and NoKey is the reason why the key is missing.
	Key   digest.Key
	NoKey string
	// Installed is the time of the installation of the controller, if that is known.
	Installed time.Time
	// Coverage is the time since when the controller has read the kinds and namespaces that it
	// reads now, if that is known.
	Coverage reload.Coverage
	// Halted is where no reload starts, as the controller has written it.
	Halted metainfo.Halted
	// Freeze is the text of the freeze of all namespaces, valid or not.
	Freeze string
	// The sign shows whether the controller runs.
	sign
	// Version is that of the controller, if it is known.
	Version string
	// Pages reports that texts are for pages. Then they have times instead of ages.
	Pages bool
	// Context is the context of the kubeconfig that commands to paste name, if any.
	Context string
	// receiver is the address that the controller notifies of changes instead of rolling workloads,
	// and gateURL the one that it asks before each reload. Both are without parts that may be a
	// token, and empty if there is none.
	receiver, gateURL string
	// deployment is the name of the Deployment of the controller, if that is known.
	deployment string
	// wanted describes the controller to find.
	wanted wanted
}

// wanted describes the controller that a command has to find.
type wanted struct {
	// watches is the namespace that the controller has to watch, or empty if any controller will
	// do.
	watches string
	// named reports whether the user named the namespace of the controller.
	named bool
	// partly reports whether the user may not search all namespaces.
	partly bool
}

// Assume returns the settings of the command line and the defaults.
func Assume(cfg *config.Config, flags *pflag.FlagSet, now time.Time, why string) (*Settings, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	s := settingsOf(cfg)
	s.Assumed, s.Beyond, s.NoKey, s.Installed = why, config.Beyond(flags), "its controller was not found", now
	return s, nil
}

// settingsOf returns the settings of a valid configuration.
func settingsOf(cfg *config.Config) *Settings {
	s := &Settings{Rules: cfg.Rules()}
	switch {
	case cfg.Webhook != nil: // then it asks nobody, because it rolls nothing
		s.receiver = config.WithoutToken(cfg.Webhook.String())
	case cfg.Gates.URL != nil:
		s.gateURL = config.WithoutToken(cfg.Gates.URL.String())
	}
	return s
}

// Ask finds the controller and its settings by its ConfigMap. at is the namespace of the controller
// that the user named. near is the namespace that the command is about, or empty for all: if
// several controllers run, the one that watches near counts.
func Ask(ctx context.Context, client clientset.Interface, cfg *config.Config, flags *pflag.FlagSet, at, near string, now time.Time) (*Settings, error) {
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
	s.deployment, s.Halted, s.Freeze, s.Version = chosen.deployment, chosen.halted, chosen.freeze, chosen.version
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
		if other.instance != "" && other.instance != chosen.instance && chosen.watchesNamespace(other.namespace, nil) != watchesOthers {
			others[other.instance] = other.namespace
		}
	}
	return others
}

// meet reads the key and the Lease, as far as the user may read them.
func (s *Settings) meet(ctx context.Context, client clientset.Interface) {
	key, made, err := controller.LoadDigestKey(ctx, client, s.Controller, true)
	switch {
	case apierrors.IsForbidden(err):
		s.NoKey = "you may not read the digest key of the controller"
	case err != nil:
		s.NoKey = err.Error()
	case made.IsZero():
		s.NoKey = "the controller has not created its digest key yet"
	default:
		s.Key, s.NoKey, s.Installed = key.Showing(s.Rules.SecretMarks), "", made
	}
	s.hear(ctx, client)
}

// hear reads the evidence of whether the controller runs.
func (s *Settings) hear(ctx context.Context, client clientset.Interface) {
	if s.Controller != "" {
		s.sign = listen(ctx, client, s.Controller, s.deployment)
	}
}

// reads reports whether the controller watches a kind of workload.
func (s *Settings) reads(kind string) bool { return s.Rules.ReadsKind(kind) }

// ignores reports whether the controller is configured not to read a kind of source.
func (s *Settings) ignores(kind source.Kind) bool {
	return s.Rules.IgnoresSource(kind)
}

// asksFor reports whether a workload is opted in. If the controller ignores its kind,
// --auto-reload-all or the namespace alone does not count, because ignoring the kind is intended.
func (s *Settings) asksFor(w *workload.Workload) bool {
	if !s.reads(w.Key.Kind) {
		return w.Policy.ByItself().OptedIn(false)
	}
	return w.Policy.OptedIn(s.Rules.AutoReloadAll)
}

// unasked reports whether a custom kind is one that the controller watches only if RBAC happens to
// permit it. Rollouts are not such a kind, because they have a flag.
func (s *Settings) unasked(w kubeapi.Watched) bool {
	kind, ok := s.Rules.Kinds.Of(w.Resource.Group, w.Kind)
	return ok && kind.Custom && kind.Use == kinds.WhenServed && !kind.HasWorkloadRef
}

// passesOver returns why the controller does not reconcile a workload, or empty if it does.
func (s *Settings) passesOver(o *Objects, key workload.Key) string {
	if !s.reads(key.Kind) {
		if kind, _ := s.Rules.Kinds.Named(key.Kind); kind.HasWorkloadRef { // a Rollout has its own flag
			return "the controller does not roll Rollouts (--is-Argo-Rollouts=false)"
		}
		return "the controller ignores " + key.Kind + "s (--ignored-workload-types)"
	}
	if w, _ := o.workload(key); w.Deleting {
		return "it is being deleted"
	}
	if parent, ok := o.parentOf(key); ok {
		if !o.policyOf(parent).OptedIn(s.Rules.AutoReloadAll) {
			return fmt.Sprintf("its owner, %s, would be rolled instead, but is not opted in", parent)
		}
		return fmt.Sprintf("its owner, %s, is rolled instead", parent)
	}
	return s.leftOut(o, key.Namespace)
}

// leftOut returns why the controller does not watch a namespace, or empty if it does.
func (s *Settings) leftOut(o *Objects, ns string) string {
	switch o.leavesOut(ns) {
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
