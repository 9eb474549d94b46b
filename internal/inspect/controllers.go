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
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// self is a controller by what it has written down about itself.
type self struct {
	namespace string
	made      time.Time
	options   map[string]any
	coverage  reload.Coverage
	// foreign reports whether it is not one of these: Reloader writes the same ConfigMap.
	foreign bool
	// instance is the ID of its digest key, empty if it does not say.
	instance string
	watches  watching
	// deployment is the name of its Deployment, empty if it does not say.
	deployment string
	life       life
}

// watching reports whether a controller watches a namespace, as far as its ConfigMap shows.
type watching uint8

const (
	watchesOthers watching = iota
	watchesPerhaps
	watchesIt
)

func readSelf(info *corev1.ConfigMap) (self, error) {
	s := self{namespace: info.Namespace, made: info.CreationTimestamp.Time, coverage: metainfo.ReadCoverage(info)}
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
	_, told := s.options["settle"] // Reloader has nothing of the kind
	s.foreign = !told && !slices.ContainsFunc(info.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == workload.FieldManager })
	return s, nil
}

// look reports whether it watches a namespace (nil if that may not be read), or whether it watches any if none is named.
func (s *self) look(ns string, known *corev1.Namespace) watching {
	var cfg config.Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	if config.Take(flags, s.options) != nil || cfg.Validate() != nil {
		return watchesPerhaps
	}
	settings := &Settings{Config: &cfg, Rules: cfg.Rules()}
	objects := NewObjects(settings)
	if known != nil {
		objects.Put(known)
	}
	_, told := s.options["namespaces"] // an older one does not record them
	switch {
	case ns == "" && len(cfg.Namespaces) > 0, ns != "" && settings.leftOut(objects, ns) != "":
		return watchesOthers
	case !told, ns != "" && known == nil && settings.Rules.NamespaceSelector != nil:
		return watchesPerhaps
	default:
		return watchesIt
	}
}

// choose returns the controller that counts for a namespace: one that may watch it, has not ended, or is in it, in this order.
// For all namespaces, one that has not ended comes first. Beside are the namespaces of others that have not ended and may watch
// it too; for all namespaces, of all others.
func choose(ctx context.Context, client kubernetes.Interface, all []self, ns string, now time.Time) (chosen self, beside []string) {
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
		all[i].watches = all[i].look(ns, known)
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
			continue // its ConfigMap is all that is left of it
		}
		if ns == "" || most > watchesOthers && other.watches > watchesOthers {
			beside = append(beside, other.namespace)
		}
	}
	slices.Sort(beside)
	return all[0], beside
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// partly is why a controller may have been missed.
const partly = "you may not look for the controller in all namespaces"

// written returns what controllers have written down, or why there is nothing.
func written(ctx context.Context, client kubernetes.Interface, at, near string) ([]corev1.ConfigMap, string, error) {
	if at != "" {
		found, err := client.CoreV1().ConfigMaps(at).Get(ctx, metainfo.Name, metav1.GetOptions{})
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
	list, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{LabelSelector: metainfo.Selector})
	if apierrors.IsForbidden(err) {
		// Who may read one namespace alone may still be in the one of the controller.
		var all []corev1.ConfigMap
		for _, ns := range slices.Compact([]string{near, "reroll"}) {
			if found, err := client.CoreV1().ConfigMaps(ns).Get(ctx, metainfo.Name, metav1.GetOptions{}); ns != "" && err == nil {
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
