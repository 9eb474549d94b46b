package simapi_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/test/simapi"
)

// dataTimes asks the way that the engine does what the objects tell.
func dataTimes(ctx context.Context, s server, o *outcome) error {
	obj, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	last := dataTime(obj)
	relation := func(next simapi.Object) string {
		was := last
		last = dataTime(next)
		switch {
		case last.After(was):
			return "later"
		case last.Equal(was):
			return "unchanged"
		default:
			return "earlier"
		}
	}
	o.say("created: %s", atCreation(obj))
	for _, step := range []struct {
		what, manager string
		edit          func(*corev1.ConfigMap)
	}{
		{"key added", "kubectl-edit", func(cm *corev1.ConfigMap) { cm.Data["b"], cm.Data["c"] = "1", "1" }},
		{"key taken away by another", "helm", func(cm *corev1.ConfigMap) { delete(cm.Data, "b") }},
		{"label by another", "kubectl-label", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"x": "1"} }},
		{"key taken away by its owner", "kubectl-edit", func(cm *corev1.ConfigMap) { delete(cm.Data, "c") }},
		{"label by an owner of content", "helm", func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"x": "2"} }},
	} {
		s.wait(1100 * time.Millisecond)
		next := obj.DeepCopyObject().(*corev1.ConfigMap)
		next.ResourceVersion = ""
		step.edit(next)
		if obj, err = s.update(ctx, next, step.manager); err != nil {
			return err
		}
		o.say("%s: %s", step.what, relation(obj))
	}
	if err := s.remove(ctx, "configmaps", "a"); err != nil {
		return err
	}
	if obj, err = s.create(ctx, configMap("a", "1"), "helm"); err != nil {
		return err
	}
	o.say("deleted and made again: %s", atCreation(obj))
	return nil
}

func atCreation(obj simapi.Object) string {
	if dataTime(obj).Equal(obj.GetCreationTimestamp().Time) {
		return "at creation"
	}
	return "not at creation"
}

func dataTime(obj simapi.Object) time.Time {
	return source.FromConfigMap(obj.(*corev1.ConfigMap), annotations.DefaultNames()).DataTime
}

func wholeSeconds(ctx context.Context, s server, o *outcome) error {
	obj, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	o.say("creation: %v", obj.GetCreationTimestamp().Nanosecond() == 0)
	o.say("managed fields: %v", obj.GetManagedFields()[0].Time.Nanosecond() == 0)
	return nil
}

func watchOrder(ctx context.Context, s server, o *outcome) error {
	marker, err := s.create(ctx, configMap("before", "1"), "helm")
	if err != nil {
		return err
	}
	obj, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	middle := obj.GetResourceVersion()
	if _, err := s.update(ctx, changed(obj, "a", "2"), "helm"); err != nil {
		return err
	}
	if err := s.remove(ctx, "configmaps", "a"); err != nil {
		return err
	}
	all, err := s.events(ctx, "configmaps", marker.GetResourceVersion(), 3)
	if err != nil {
		return err
	}
	o.say("%s", typesOf(all))
	o.say("versions rise: %v", rises(all))
	rest, err := s.events(ctx, "configmaps", middle, 2)
	if err != nil {
		return err
	}
	o.say("from the middle: %s", typesOf(rest))
	o.say("a deletion has a version of its own: %v", version(all[2].Object.(simapi.Object)) > version(all[1].Object.(simapi.Object)))
	return nil
}

func oneOrder(ctx context.Context, s server, o *outcome) error {
	var last uint64
	rising := true
	for _, obj := range []simapi.Object{configMap("a", "1"), deployment("web"), configMap("b", "1")} {
		made, err := s.create(ctx, obj, "helm")
		if err != nil {
			return err
		}
		rising = rising && version(made) > last
		last = version(made)
	}
	o.say("rises across resources: %v", rising)
	return nil
}

func madeAgain(ctx context.Context, s server, o *outcome) error {
	first, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	if err := s.remove(ctx, "configmaps", "a"); err != nil {
		return err
	}
	second, err := s.create(ctx, configMap("a", "1"), "helm")
	if err != nil {
		return err
	}
	o.say("other uid: %v", first.GetUID() != second.GetUID())
	_, err = s.create(ctx, configMap("a", "1"), "helm")
	o.say("exists: %s", refused(err))
	return nil
}
