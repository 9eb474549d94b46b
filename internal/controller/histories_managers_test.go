package controller

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// keeper is a tool that manages a source. What it writes in addition to the data decides what the
// API server shows: an entry of managedFields has one time for all fields of a manager.
type keeper struct {
	manager string
	// applies reports whether it uses server-side apply, so that it owns all fields that it
	// declares.
	applies bool
	// remembers is an annotation with everything that it wrote, which changes with every write.
	remembers string
	// label and annotation are what it writes without a change of data, for example for another
	// version of a chart.
	label, annotation string
}

func keepers() []keeper {
	return []keeper{
		{manager: "kubectl-edit", label: "team"},
		{manager: "kubectl-client-side-apply", remembers: "kubectl.kubernetes.io/last-applied-configuration", label: "app.kubernetes.io/version"},
		{manager: "helm", label: "helm.sh/chart"},
		{manager: "argocd-controller", annotation: "argocd.argoproj.io/tracking-id"},
		{manager: "operator", annotation: "example.com/observed"},
		{manager: "kustomize-controller", applies: true, label: "kustomize.toolkit.fluxcd.io/version"},
	}
}

// drawKeepers draws a tool for each source.
func drawKeepers(seed uint64) map[simapi.Source]keeper {
	r := rand.New(rand.NewPCG(seed, 4))
	kept := map[simapi.Source]keeper{}
	for _, src := range sources() {
		kept[src] = keepers()[r.IntN(len(keepers()))]
	}
	return kept
}

// hand returns the client of the next write to a source, which is mostly the tool that manages it.
func (u *users) hand(src simapi.Source) keeper {
	if u.h.rand.IntN(4) > 0 {
		return u.keepers[src]
	}
	return keepers()[u.h.rand.IntN(len(keepers()))]
}

// save writes to a source like a tool.
func (u *users) save(src simapi.Source, by keeper, edit func(obj simapi.Object)) bool {
	old, err := u.h.server.Get(src.Resource, inShop(src.Name))
	if err != nil {
		return false
	}
	u.h.count("manager: " + by.manager)
	change := func(obj simapi.Object) {
		edit(obj)
		u.remember(obj, by)
	}
	if !by.applies {
		_, err = u.h.server.Edit(src.Resource, inShop(src.Name), by.manager, change)
		return err == nil
	}
	// It applies everything that it declares, which excludes labels and annotations of other
	// clients.
	config := old.DeepCopyObject().(simapi.Object)
	change(config)
	config.SetLabels(only(config.GetLabels(), by.label, selectLabel, pluginsLabel))
	config.SetAnnotations(only(config.GetAnnotations(), annotations.DefaultNames().Match, annotations.DefaultNames().Ignore))
	_, err = u.h.server.Apply(config, by.manager, true)
	return err == nil
}

func only(values map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, ok := values[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// make creates a source with its tool.
func (u *users) make(src simapi.Source, obj simapi.Object) bool {
	by := u.keepers[src]
	u.remember(obj, by)
	if by.applies {
		_, err := u.h.server.Apply(obj, by.manager, false)
		return err == nil
	}
	_, err := u.h.server.Create(obj, by.manager)
	return err == nil
}

func (u *users) remember(obj simapi.Object, by keeper) {
	if by.remembers != "" {
		u.annotate(obj, by.remembers, "everything as of "+u.value())
	}
}

func (u *users) annotate(obj simapi.Object, key, value string) {
	annotations := annotationsOf(obj)
	if value == "" {
		delete(annotations, key)
	} else {
		annotations[key] = value
	}
	obj.SetAnnotations(annotations)
}

func (u *users) label(obj simapi.Object, key, value string) {
	labels := map[string]string{}
	maps.Copy(labels, obj.GetLabels())
	if value == "" {
		delete(labels, key)
	} else {
		labels[key] = value
	}
	obj.SetLabels(labels)
}

func (u *users) touchAs(obj simapi.Object, by keeper) {
	if by.label != "" {
		u.label(obj, by.label, u.value())
	}
	if by.annotation != "" {
		u.annotate(obj, by.annotation, u.value())
	}
}

// touch writes metadata and no data, mostly as the manager of the data.
func (u *users) touch(src simapi.Source) bool {
	by := u.hand(src)
	if u.h.rand.IntN(4) == 0 {
		by = keeper{manager: "kubectl-label", label: "touched"}
	}
	return u.save(src, by, func(obj simapi.Object) { u.touchAs(obj, by) })
}

// editAndTouch is a release: data and labels in one write.
func (u *users) editAndTouch(src simapi.Source) bool {
	by := u.hand(src)
	return u.save(src, by, func(obj simapi.Object) {
		content := data(obj)
		content["a"] = u.value()
		setData(obj, content)
		u.touchAs(obj, by)
	})
}

// swap deletes a source, recreates it with other data and restores the earlier data, all within
// moments.
func (u *users) swap(src simapi.Source) bool {
	old, err := u.h.server.Get(src.Resource, inShop(src.Name))
	if err != nil {
		return false
	}
	content := data(old)
	moment := func() {
		u.h.elapse(time.Duration(u.h.rand.IntN(900)) * time.Millisecond)
		for range u.h.rand.IntN(4) {
			u.h.stepPods()
		}
	}
	_ = u.deleteSource(src)
	moment()
	if !u.createSource(src) {
		return false
	}
	moment()
	return u.save(src, u.hand(src), func(obj simapi.Object) { setData(obj, content) })
}

// dress gives a new source its annotations.
func (u *users) dress(obj simapi.Object) {
	if u.h.policies && u.h.rand.IntN(4) > 0 {
		u.annotate(obj, annotations.DefaultNames().Match, "true")
	}
	if u.h.selector && u.h.rand.IntN(4) > 0 {
		u.label(obj, selectLabel, selectValue)
	}
	if u.h.byLabel && u.h.rand.IntN(2) > 0 {
		u.label(obj, pluginsLabel, "grafana")
	}
}

// annotateSource changes the annotations of a source.
func (u *users) annotateSource(src simapi.Source) bool {
	key := []string{annotations.DefaultNames().Match, annotations.DefaultNames().Ignore}[u.h.rand.IntN(2)]
	value := []string{"true", "", "false"}[u.h.rand.IntN(3)]
	return u.save(src, u.hand(src), func(obj simapi.Object) { u.annotate(obj, key, value) })
}

func (u *users) selectOrNot(src simapi.Source) bool {
	return u.save(src, u.hand(src), func(obj simapi.Object) {
		value := selectValue
		if obj.GetLabels()[selectLabel] == selectValue {
			value = ""
		}
		u.label(obj, selectLabel, value)
	})
}

// forgetManagers removes the managed fields, like a client that wants smaller objects.
func (u *users) forgetManagers(src simapi.Source) bool {
	return u.h.server.ForgetManagers(src.Resource, inShop(src.Name), "kubectl-patch") == nil
}
