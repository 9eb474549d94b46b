package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// self is a controller as its own ConfigMap describes it.
type self struct {
	namespace string
	made      time.Time
	options   map[string]any
	coverage  reload.Coverage
	// foreign reports whether the ConfigMap is not from Reroll: Reloader writes a ConfigMap of the
	// same name.
	foreign bool
	// instance is the ID of the digest key, or empty if the ConfigMap does not have it.
	instance string
	watches  watching
	// deployment is the name of the Deployment, or empty if the ConfigMap does not have it.
	deployment string
	version    string
	life       life
	halted     metainfo.Halted
	freeze     string
}

// watching is whether a controller watches a namespace, as far as its ConfigMap shows.
type watching uint8

const (
	watchesOthers watching = iota
	watchesPerhaps
	watchesIt
)

func readSelf(info *corev1.ConfigMap) (self, error) {
	s := self{namespace: info.Namespace, made: info.CreationTimestamp.Time, coverage: metainfo.ReadCoverage(info), halted: metainfo.ReadHalted(info), freeze: metainfo.ReadFreeze(info)}
	s.instance, _ = metainfo.Instance(info)
	if err := json.Unmarshal([]byte(info.Data["reloaderOptions"]), &s.options); err != nil {
		return s, fmt.Errorf("read the settings in ConfigMap %s/%s: %w", info.Namespace, info.Name, err)
	}
	var installed struct {
		Name string `json:"name"`
	}
	if json.Unmarshal([]byte(info.Data["deploymentInfo"]), &installed) == nil {
		s.deployment = installed.Name
	}
	s.version = metainfo.Version(info)
	_, recorded := s.options["settle"] // Reloader has no such flag
	s.foreign = !recorded && !slices.ContainsFunc(info.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == workload.FieldManager })
	return s, nil
}

// watchesNamespace reports whether the controller watches a namespace. known is nil if the user may
// not read the namespace. If ns is empty, it reports whether the controller watches all namespaces.
func (s *self) watchesNamespace(ns string, known *corev1.Namespace) watching {
	var cfg config.Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	if config.Take(flags, s.options) != nil || cfg.Validate() != nil {
		return watchesPerhaps
	}
	settings := settingsOf(&cfg)
	objects := NewObjects(settings)
	if known != nil {
		objects.Put(known)
	}
	_, recorded := s.options["namespaces"] // older versions do not record them
	switch {
	case ns == "" && len(settings.Rules.Namespaces) > 0, ns != "" && settings.leftOut(objects, ns) != "":
		return watchesOthers
	case !recorded, ns != "" && known == nil && settings.Rules.NamespaceSelector != nil:
		return watchesPerhaps
	default:
		return watchesIt
	}
}

// choose returns the controller whose settings count for a namespace. Controllers that may watch
// the namespace come first, then those that have not ended, then the one that runs in the
// namespace. For all namespaces, controllers that have not ended come first. beside are the
// namespaces of the other controllers that have not ended and may watch the namespace, too. For all
// namespaces, beside has all others that have not ended.
func choose(ctx context.Context, client clientset.Interface, all []self, ns string, now time.Time) (chosen self, beside []string) {
	own := slices.DeleteFunc(slices.Clone(all), func(s self) bool { return s.foreign })
	if len(own) > 0 {
		all = own
	}
	if len(all) == 1 {
		return all[0], nil
	}
	known := knownNamespace(ctx, client, ns)
	most := watchesOthers
	for i := range all {
		all[i].watches = all[i].watchesNamespace(ns, known)
		most = max(most, all[i].watches)
	}
	for i := range all {
		if s := &all[i]; ns == "" || s.watches > watchesOthers || most == watchesOthers {
			evidence := listen(ctx, client, s.namespace, s.deployment)
			s.life = evidence.life(now)
		}
	}
	slices.SortFunc(all, func(a, b self) int {
		return cmp.Or(-cmp.Compare(yes(ns != "" && a.watches > watchesOthers), yes(ns != "" && b.watches > watchesOthers)),
			-cmp.Compare(yes(a.life != lifeEnded), yes(b.life != lifeEnded)), -cmp.Compare(a.watches, b.watches), -cmp.Compare(a.life, b.life),
			-cmp.Compare(yes(a.namespace == ns), yes(b.namespace == ns)), cmp.Compare(a.namespace, b.namespace))
	})
	for _, other := range all[1:] {
		if other.life == lifeEnded {
			continue // only its ConfigMap still exists
		}
		if ns == "" || most > watchesOthers && other.watches > watchesOthers {
			beside = append(beside, other.namespace)
		}
	}
	slices.Sort(beside)
	return all[0], beside
}

// Describes reports whether a controller has written its settings, so that Ask finds it.
func (c *Cluster) Describes(ctx context.Context, at, near string) bool {
	found, _, err := written(ctx, c.Interface, at, near)
	return err == nil && slices.ContainsFunc(found, func(info corev1.ConfigMap) bool {
		one, err := readSelf(&info)
		return err == nil && !one.foreign
	})
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// partly is the reason why a controller may be missing from the answer.
const partly = "you may not look for the controller in all namespaces"

// written returns the ConfigMaps of the controllers, or the reason why there are none.
func written(ctx context.Context, client clientset.Interface, at, near string) ([]corev1.ConfigMap, string, error) {
	if at != "" {
		found, err := client.ConfigMaps(at).Get(ctx, metainfo.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			return []corev1.ConfigMap{*found}, "", nil
		case apierrors.IsNotFound(err):
			return nil, fmt.Sprintf("there is no ConfigMap %s/%s", at, metainfo.Name), nil
		case apierrors.IsForbidden(err):
			return nil, fmt.Sprintf("you may not read the ConfigMap %s/%s", at, metainfo.Name), nil
		default:
			return nil, "", err
		}
	}
	list, err := client.ConfigMaps("").List(ctx, metav1.ListOptions{LabelSelector: metainfo.Selector})
	if apierrors.IsForbidden(err) {
		// A user with permissions for one namespace may be in the namespace of the controller.
		var all []corev1.ConfigMap
		for _, ns := range slices.Compact([]string{near, "reroll"}) {
			if found, err := client.ConfigMaps(ns).Get(ctx, metainfo.Name, metav1.GetOptions{}); ns != "" && err == nil {
				all = append(all, *found)
			}
		}
		return all, partly, nil
	}
	if err != nil {
		return nil, "", err
	}
	return list.Items, "no ConfigMap has the label " + metainfo.Selector, nil
}
