package faults

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// oracle judges, each time everything has come to rest, what happened since the last time.
type oracle struct {
	*truth
	ns *harness.Namespace
	// since is the version of the last rest.
	since uint64
	// rolled is how many revisions the workloads had come to then.
	rolled map[harness.Ref]int
	// reloads and single count what was judged.
	reloads, single int
}

func (h *history) newOracle() (*oracle, error) {
	o := &oracle{truth: newTruth(h.say), ns: h.ns, rolled: map[harness.Ref]int{}}
	lost := func(err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = errors.Join(o.err, fmt.Errorf("the oracle is blind: %w", err))
	}
	return o, h.ns.EachVersion(h.ctx, o.see, lost, "configmaps", "secrets", "pods", "deployments", "statefulsets", "daemonsets")
}

// judge is called at rest. Gapless tells that one controller ran all the time and saw everything in
// order.
func (o *oracle) judge(ctx context.Context, gapless bool) error {
	now, pods, err := o.catchUp(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, w := range workloads() {
		rolled, err := o.ns.Rolls(ctx, w.Ref)
		if err != nil {
			return err
		}
		errs = append(errs, o.judgePods(w, pods[w.Name]), o.judgeRolls(w, rolled-o.rolled[w.Ref], gapless))
		o.rolled[w.Ref] = rolled
	}
	o.since = now
	return errors.Join(errs...)
}

// catchUp returns the version of the present and the pods of each workload by its name, once all
// that has led to them was seen.
func (o *oracle) catchUp(ctx context.Context) (uint64, map[string][]corev1.Pod, error) {
	core, apps, ns := shared.Admin.CoreV1(), shared.Admin.AppsV1(), o.ns.Name
	var now uint64
	byName := map[string][]corev1.Pod{}
	err := harness.Await(ctx, "the oracle to have seen everything", func(ctx context.Context) error {
		pods, err := core.Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		configMaps, err := core.ConfigMaps(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		secrets, err := core.Secrets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		deployments, err := apps.Deployments(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		statefulSets, err := apps.StatefulSets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		daemonSets, err := apps.DaemonSets(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if now, err = strconv.ParseUint(daemonSets.ResourceVersion, 10, 64); err != nil {
			return err
		}
		clear(byName)
		for _, pod := range pods.Items {
			if pod.DeletionTimestamp != nil {
				continue // about to end: what it runs with does not matter any more
			}
			byName[pod.Labels["app"]] = append(byName[pod.Labels["app"]], pod)
		}
		return errors.Join(sawAll(o, pods.Items), sawAll(o, configMaps.Items), sawAll(o, secrets.Items),
			sawAll(o, deployments.Items), sawAll(o, statefulSets.Items), sawAll(o, daemonSets.Items))
	})
	return now, byName, err
}

func sawAll[T any, P interface {
	*T
	metav1.Object
}](o *oracle, items []T) error {
	for i := range items {
		obj := P(&items[i])
		version, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
		if err != nil {
			return err
		}
		if err := o.hasSeen(obj, version); err != nil {
			return err
		}
	}
	return nil
}

func (o *oracle) judgePods(w workload, pods []corev1.Pod) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(pods) == 0 {
		return fmt.Errorf("at rest %s has no pods", w)
	}
	for i := range pods {
		version := o.born[pods[i].UID]
		for _, src := range w.sources {
			now, had := o.present(src), o.under(src, version)
			if now.gone || had != now {
				return fmt.Errorf("a change is lost: at rest pod %s of %s, created at %d, has %s with %s of version %d, which is %s since version %d",
					pods[i].Name, w, version, src, had.text, had.version, now.text, now.version)
			}
		}
	}
	return nil
}

func (o *oracle) judgeRolls(w workload, revisions int, gapless bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	changes := o.changes(w.sources, o.since)
	var reloads []uint64
	users := 0
	for _, r := range o.rolls[w.Ref] {
		switch {
		case r.version <= o.since:
		case r.byUser:
			users++
		default:
			reloads = append(reloads, r.version)
		}
	}
	o.reloads += len(reloads)
	if len(changes) == 1 && users == 0 {
		o.single++
	}
	told := fmt.Sprintf("since version %d %s was reloaded at %d, its sources changed at %d, users rolled it %d times, it has %d new revisions",
		o.since, w, reloads, changes, users, revisions)
	// Each reload has a change of its own before it.
	for i, version := range reloads {
		if i >= len(changes) || changes[i] > version {
			return fmt.Errorf("rolled without a change: %s", told)
		}
		if i > 0 && gapless && !between(changes, reloads[i-1], version) {
			return fmt.Errorf("rolled twice for what a controller saw in order: %s", told)
		}
	}
	if len(changes) > 0 && users == 0 && len(reloads) == 0 {
		return fmt.Errorf("not rolled for a change: %s", told)
	}
	// Templates that follow each other quickly can be one revision.
	least := min(1, len(reloads)+users)
	if revisions < least || revisions > len(reloads)+users {
		return fmt.Errorf("the revisions do not fit the templates: %s", told)
	}
	return nil
}

func between(versions []uint64, after, before uint64) bool {
	for _, v := range versions {
		if v > after && v < before {
			return true
		}
	}
	return false
}
