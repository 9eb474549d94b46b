package controller

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// asks are the opt-in annotations of a workload.
func asks() []map[string]string {
	names := annotations.DefaultNames()
	return []map[string]string{
		{},
		{names.Auto: "true"},
		{names.Auto: "false"},
		{names.Auto: "false", names.SecretAuto: "true"},
		{names.ConfigMapAuto: "true"},
		{names.ConfigMapAuto: "false"},
		{names.SecretAuto: "true", names.ConfigMap: "routes"},
		{names.ConfigMap: "set.*, rout[ae]s", names.Secret: "(token|cert)"},
		{names.ConfigMap: "settings, [broken", names.Secret: "tok"},
		{names.Search: "true"},
		{names.Search: "true", names.Secret: "cert"},
		{names.Search: "yes", names.Auto: "true"},
		{names.Auto: "true", names.ConfigMapExclude: "settings"},
		{names.Auto: "true", names.SecretExclude: "cert, tok.*"},
		{names.ConfigMap: ".*", names.Secret: ".*", names.ConfigMapExclude: "routes"},
	}
}

// askOtherwise replaces all opt-in annotations of a workload.
func (u *users) askOtherwise(w drawnWorkload) bool {
	asked := asks()[u.h.rand.IntN(len(asks()))]
	return u.edit(w, func(obj simapi.Object) {
		on := u.where(obj)
		annotations := annotationsOf(on)
		for _, way := range asks() {
			for key := range way {
				delete(annotations, key)
			}
		}
		maps.Copy(annotations, asked)
		on.SetAnnotations(annotations)
	})
}

// below draws whether the opt-in annotations of a workload are on its pod template.
func (u *users) below() bool { return u.h.below && u.h.rand.IntN(2) == 0 }

// where draws the object for new opt-in annotations. A user who annotates the pod template has
// rolled the workload already.
func (u *users) where(obj simapi.Object) metav1.Object {
	if u.below() {
		return templateOf(obj)
	}
	return obj
}

// asksFor reads the annotations of a workload and of a source as their documentation says. A named
// source counts even if it is not referenced. all reports --auto-reload-all.
func (o *oracle) asksFor(obj simapi.Object, src simapi.Source, all bool) bool {
	names, s := annotations.DefaultNames(), o.sources[src]
	list, auto, without := names.ConfigMap, names.ConfigMapAuto, names.ConfigMapExclude
	switch src.Resource {
	case "secrets":
		list, auto, without = names.Secret, names.SecretAuto, names.SecretExclude
	case simapi.ClassResource:
		list, auto, without = names.SecretProviderClass, names.SPCAuto, names.SPCExclude
	}
	annotations, excluded := obj.GetAnnotations(), obj.GetAnnotations()
	if !hasOne(annotations, list, names.Search, names.Auto, auto) {
		annotations = templateOf(obj).Annotations // they count if the workload has none
	}
	if !hasOne(excluded, without) {
		excluded = templateOf(obj).Annotations
	}
	_, general := annotations[names.Auto]
	_, typed := annotations[auto]
	refers := slices.Contains(append(simapi.Refers(obj), mounted(obj)...), src)
	switch {
	case s.ignored, o.unselected, o.h.selector && !s.selected, slices.Contains(entries(excluded[without]), src.Name):
		return false
	case slices.ContainsFunc(entries(annotations[list]), func(entry string) bool { return fits(entry, src.Name) }):
		return true
	case selectsByLabel(obj, src, s.plugins):
		return true
	case !refers:
		return false
	default:
		return annotations[names.Search] == "true" && s.matches ||
			annotations[names.Auto] == "true" || annotations[auto] == "true" ||
			all && !general && !typed
	}
}

func hasOne(annotations map[string]string, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, has := annotations[key]
		return has
	})
}

func entries(list string) []string {
	return strings.Split(strings.ReplaceAll(list, " ", ""), ",")
}

// fits reports whether an expression matches the whole name.
func fits(entry, name string) bool {
	if entry == name {
		return true
	}
	if entry == "" || regexp.QuoteMeta(entry) == entry {
		return false
	}
	expression, err := regexp.Compile("^(?:" + entry + ")$")
	return err == nil && expression.MatchString(name)
}

// asksItself reports whether a workload opts in for a source by its own annotations.
func (o *oracle) asksItself(l *look, src simapi.Source) bool {
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	return err == nil && o.asksFor(obj, src, false)
}

// mayCover is the earliest version since which a controller may take a source for covered.
func (w *workloadTruth) mayCover(src simapi.Source) uint64 {
	if may, ok := w.may[src]; ok {
		return min(w.covered[src], may.version)
	}
	return w.covered[src]
}
