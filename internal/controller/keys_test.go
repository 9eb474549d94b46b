package controller

import (
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/test/simapi"
)

// usesLevel lets the template of the workload use one key of its ConfigMap.
func usesLevel(d *appsv1.Deployment) {
	container := &d.Spec.Template.Spec.Containers[0]
	container.EnvFrom = nil
	container.Env = append(container.Env, corev1.EnvVar{Name: "LEVEL", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "web"}, Key: "level",
	}}})
}

func counts(keys string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Annotations = maps.Clone(d.Annotations)
		if d.Annotations[annotations.Keys] = keys; keys == "" {
			delete(d.Annotations, annotations.Keys)
		}
	}
}

// keyed is a stage with a workload that uses the key level of a ConfigMap with two keys, and has the
// annotation, if it is not empty. Its Pods are older than every change.
func keyed(t *testing.T, keys string) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.oldPods = true
	s.add("web", true, "")
	s.setKeys("level", "1", "banner", "1")
	s.change(func(d *appsv1.Deployment) {
		usesLevel(d)
		counts(keys)(d)
	})
	s.play(time.Minute)
	s.marked, s.looks, s.asked = 0, nil, 0
	return s
}

// setKeys writes values of the ConfigMap. An empty value removes the key.
func (s *stage) setKeys(pairs ...string) {
	s.Helper()
	s.server.Advance(10 * time.Second)
	changed, err := s.server.Edit("configmaps", inShop("web"), "kubectl", func(obj simapi.Object) {
		cm := obj.(*corev1.ConfigMap)
		cm.Data = maps.Clone(cm.Data)
		for i := 0; i < len(pairs); i += 2 {
			if cm.Data[pairs[i]] = pairs[i+1]; pairs[i+1] == "" {
				delete(cm.Data, pairs[i])
			}
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
}

// away edits the workload and the ConfigMap while no controller runs.
func (s *stage) away(edit func(*appsv1.Deployment), pairs ...string) *stage {
	s.Helper()
	before := s.controller
	s.controller = newStage(s.T).controller
	s.setKeys(pairs...)
	s.server.Advance(10 * time.Second)
	if edit != nil {
		s.change(edit)
	}
	s.controller = before
	return s.restarted()
}

// reloadsAfter checks how many reloads follow within a minute.
func (s *stage) reloadsAfter(about string, reloads int) {
	s.Helper()
	s.play(time.Minute)
	if s.marked != reloads {
		s.Errorf("%s: %d reloads, want %d", about, s.marked, reloads)
	}
	s.marked = 0
}

func TestAKeyThatDoesNotCountIsNoReconciliation(t *testing.T) {
	s := keyed(t, "used")
	s.looks = nil
	s.setKeys("banner", "2")
	s.reloadsAfter("another key", 0)
	s.setKeys("other", "new")
	s.setKeys("banner", "")
	s.reloadsAfter("keys that come and go", 0)
	if len(s.looks) != 0 || s.asked != 0 {
		t.Errorf("%d reconciliations and %d lists of Pods, want none", len(s.looks), s.asked)
	}
	s.setKeys("level", "2")
	s.reloadsAfter("the key that it uses", 1)
	s.setKeys("level", "")
	s.reloadsAfter("its key is removed", 1)
	s.setKeys("level", "2")
	s.reloadsAfter("its key is back", 1)
	s.setKeys("banner", "3", "level", "3")
	s.reloadsAfter("both", 1)
}

func TestChoosingOtherKeysRollsNothing(t *testing.T) {
	const list, other = "configmap/web=level", "configmap/web=!banner"
	for _, from := range []string{"", "used", list, other} {
		for _, to := range []string{"", "used", list, other} {
			for _, unused := range []bool{false, true} {
				s := keyed(t, from)
				if unused && from != "" {
					s.setKeys("banner", "2")
					s.reloadsAfter("another key before", 0)
				}
				s.change(counts(to))
				s.reloadsAfter("switched from "+from+" to "+to, 0)
				s.setKeys("banner", "3")
				s.reloadsAfter("another key after "+from+" → "+to, map[bool]int{true: 1}[to == ""])
				s.setKeys("level", "2")
				s.reloadsAfter("its key after "+from+" → "+to, 1)
			}
		}
	}
}

// A switch and a change may come in one settle period, in either order.
func TestAChangeAtTheSwitchIsNotLost(t *testing.T) {
	s := keyed(t, "used")
	s.change(counts(""))
	s.setKeys("banner", "2")
	s.reloadsAfter("after all keys count", 1)
	s = keyed(t, "")
	s.change(counts("used"))
	s.setKeys("banner", "2")
	s.reloadsAfter("after only used keys count", 0)
	s.setKeys("banner", "3")
	s.reloadsAfter("again", 0)
	s = keyed(t, "")
	s.change(counts("used"))
	s.setKeys("banner", "2")
	s.setKeys("level", "2")
	s.reloadsAfter("with a used key", 1)
	s = keyed(t, "used")
	s.change(counts("configmap/web=!banner"))
	s.setKeys("new", "1")
	s.reloadsAfter("a key that counts now", 1)
	s = keyed(t, "")
	s.setKeys("level", "2")
	s.change(counts("used"))
	s.reloadsAfter("a used key before", 1)
}

func TestASwitchWhileNoControllerRuns(t *testing.T) {
	for about, tc := range map[string]struct {
		from, to string
		pairs    []string
		reloads  int
	}{
		"used, nothing changed":               {"", "used", nil, 0},
		"all, nothing changed":                {"used", "", nil, 0},
		"all, another key changed":            {"used", "", []string{"banner", "2"}, 0},
		"all, its key changed":                {"used", "", []string{"level", "2"}, 1},
		"used, its key changed":               {"", "used", []string{"level", "2"}, 1},
		"used, another key: the Pods decide":  {"", "used", []string{"banner", "2"}, 1},
		"still used, another key changed":     {"used", "used", []string{"banner", "2"}, 0},
		"still used, its key changed":         {"used", "used", []string{"level", "2"}, 1},
		"still used, its key was removed":     {"used", "used", []string{"level", ""}, 1},
		"still excluded, a key was added":     {"configmap/web=!banner", "configmap/web=!banner", []string{"new", "1"}, 1},
		"excluded since, a key was added":     {"used", "configmap/web=!banner", []string{"new", "1"}, 0},
		"still excluded, the key was removed": {"configmap/web=!banner", "configmap/web=!banner", []string{"level", ""}, 1},
	} {
		s := keyed(t, tc.from)
		next := s.away(counts(tc.to), tc.pairs...)
		next.reloadsAfter(about, tc.reloads)
		next.setKeys("level", "9")
		next.reloadsAfter(about+", then its key", 1)
	}
}

// The ledger has one digest of the listed keys, and no list. So nothing shows whether another digest
// is that of other keys or of other data. ADR 17 has the reasons.
func TestAListThatIsReplacedWhileNoControllerRuns(t *testing.T) {
	const list = "configmap/web=banner" // which the template does not use
	for about, tc := range map[string]struct {
		to      string
		oldPods bool
		reloads int
	}{
		"all of its keys are there, and Pods are younger than the data": {"configmap/web=level", false, 0},
		"all of its keys are there, and Pods are older than the data":   {"configmap/web=level", true, 1},
		"a key of it is missing":         {"configmap/web=level,none", false, 1},
		"it excludes a key":              {"configmap/web=!banner", false, 1},
		"removed, and all keys count":    {"", false, 1},
		"replaced by the used keys":      {"used", false, 0},
		"the same keys in another order": {"configmap/web=banner,banner", true, 0},
	} {
		s := keyed(t, list)
		next := s.away(counts(tc.to))
		next.oldPods = tc.oldPods
		next.reloadsAfter(about, tc.reloads)
		next = next.restarted()
		next.reloadsAfter(about+", and another restart", 0)
	}
}

// The ledger does not note the time of a change that it ignores.
func TestARemovedKeyIsNotHiddenByTheTimeOfAnother(t *testing.T) {
	for _, keys := range []string{"used", "configmap/web=!banner"} {
		s := keyed(t, keys)
		s.setKeys("banner", "2")
		s.reloadsAfter("ignored", 0)
		next := s.away(nil, "level", "")
		next.oldPods = false // they are younger than the time that the API server shows
		next.reloadsAfter(keys+": a key was removed", 1)
	}
}

func TestANamespaceAndAFlagCountOnlyUsedKeys(t *testing.T) {
	s := keyed(t, "")
	s.setNamespace(map[string]string{annotations.Keys: "used"}, true)
	s.reloadsAfter("the namespace", 0)
	s.setKeys("banner", "2")
	s.reloadsAfter("another key", 0)
	s.change(counts("all"))
	s.reloadsAfter("the workload counts all", 0)
	s.setKeys("banner", "3")
	s.reloadsAfter("another key", 1)
	s.change(counts(""))
	s.setNamespace(map[string]string{annotations.Keys: "all"}, true)
	s.opts().Keys = policy.KeysUsed
	s.reloadsAfter("the namespace counts all", 0)
	s.setKeys("banner", "4")
	s.reloadsAfter("another key", 1)
	next := s.restarted()
	next.reloadsAfter("the flag", 0)
	next.setKeys("banner", "5")
	next.reloadsAfter("another key", 0)
	next.setKeys("level", "5")
	next.reloadsAfter("its key", 1)
}

func TestATemplateWithOtherKeysTakesItsBaselineAnew(t *testing.T) {
	usesBanner := func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Env[0].ValueFrom.ConfigMapKeyRef.Key = "banner"
	}
	s := keyed(t, "used")
	s.setKeys("banner", "2")
	s.change(usesBanner)
	s.play(time.Minute)
	s.marked = 0
	s.reloadsAfter("the template uses another key", 0)
	s.setKeys("level", "2")
	s.reloadsAfter("the former key", 0)
	s.setKeys("banner", "3")
	s.reloadsAfter("the new key", 1)
}

// The history of keys is kept only while some workload does not count all of them.
func TestAGapInTheHistoryOfKeysHidesNoChange(t *testing.T) {
	s := keyed(t, "used")
	s.setKeys("banner", "2")
	s.change(counts(""))
	s.reloadsAfter("all keys count", 0)
	s.setKeys("level", "2")
	s.change(counts("configmap/web=level"))
	s.reloadsAfter("a key changed while all counted", 1)
}

// label sets a label of the ConfigMap, or removes it.
func (s *stage) label(value string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop("web"), "kubectl", func(obj simapi.Object) {
		if obj.SetLabels(map[string]string{"plugins": value}); value == "" {
			obj.SetLabels(nil)
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
}

// What the selector finds is read as a whole, by a program that no template shows.
func TestAllKeysOfASelectedSourceCount(t *testing.T) {
	s := keyed(t, "used")
	s.change(func(d *appsv1.Deployment) {
		d.Annotations = maps.Clone(d.Annotations)
		d.Annotations[annotations.Sources] = "plugins=grafana"
	})
	s.reloadsAfter("a selector that does not find it", 0)
	s.setKeys("banner", "2")
	s.reloadsAfter("another key before", 0)
	s.label("grafana")
	s.reloadsAfter("the selector finds it", 0)
	s.setKeys("banner", "3")
	s.reloadsAfter("another key of a selected source", 1)
	s.label("")
	s.reloadsAfter("the selector does not find it any more", 0)
	s.setKeys("banner", "4")
	s.reloadsAfter("another key after", 0)
	s.setKeys("level", "2")
	s.reloadsAfter("its key", 1)
	s.setKeys("banner", "5")
	s.label("grafana")
	s.label("")
	s.label("grafana")
	s.reloadsAfter("another key, and the labels come and go", 0)
	next := s.restarted()
	next.reloadsAfter("a restart", 0)
	next.setKeys("banner", "6")
	next.reloadsAfter("another key after a restart", 1)
}
