package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How can a test tell that nothing happens? Not by waiting for some seconds. Each namespace has
// markers: workloads of the harness, opted in like a user's, without pods. When the source of a
// marker is edited after a step of the test and the ledger of the marker has been written, the
// controller has decided on everything that it saw before: it takes changes in their order, and
// decides on each workload when that has been quiet for a while, in the order in which those times
// are over. The second round covers what was not in order: a change that came on another watch, a
// write that met a conflict, or one about the marker that was still to come from before.
//
// There is a marker for each kind of source, because each kind has a watch of its own. A test that
// tells the controller to look at some sources only has to change the markers alike, or delete the
// one that is not to roll. A quiet period that is longer for some workloads (those that a GitOps
// tool manages) has to be set to that of the markers.
//
// The controller decides on markers more often than on anything else. For a suspended CronJob, it
// writes a ledger and nothing else, and Kubernetes writes nothing. For a StatefulSet, there are a
// rollout, a revision, two statuses and an event.
const (
	markerPrefix    = "marker-"
	configMapMarker = markerPrefix + "configmap"
	secretMarker    = markerPrefix + "secret"
	rounds          = 2
	// recorded are the kind of the markers, and rolled is the kind where a rollout has to be seen.
	recorded, rolled = "cronjob", "statefulset"
)

// markerLabel is on the markers alone.
const markerLabel = "marker"

func markers() []string { return []string{configMapMarker, secretMarker} }

// markerManifest is both markers of a kind, with their sources.
func markerManifest(kind string) string {
	var b strings.Builder
	for _, of := range []struct{ marker, source, data, ref string }{
		{configMapMarker, "ConfigMap", "data", "configMapRef"},
		{secretMarker, "Secret", "stringData", "secretRef"},
	} {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: %s\nmetadata: {name: %s}\n%s: {round: \"0\"}\n", of.source, of.marker, of.data)
		meta := fmt.Sprintf(`{name: %s, labels: {marker: %[1]s}, annotations: {reloader.stakater.com/auto: "true", reroll.dev/churn: "off"}}`, of.marker)
		pod := fmt.Sprintf("containers: [{name: marker, image: marker, envFrom: [{%s: {name: %s}}]}]", of.ref, of.marker)
		if kind == recorded {
			fmt.Fprintf(&b, `---
apiVersion: batch/v1
kind: CronJob
metadata: %s
spec: {suspend: true, schedule: "@yearly", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, %s}}}}}
`, meta, pod)
			continue
		}
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: StatefulSet
metadata: %s
spec:
  replicas: 0
  serviceName: marker
  selector: {matchLabels: {marker: %s}}
  template: {metadata: {labels: {marker: %[2]s}}, spec: {terminationGracePeriodSeconds: 0, %[3]s}}
`, meta, of.marker, pod)
	}
	return b.String()
}

// Mark makes the markers in a namespace that was made without.
func (n *Namespace) Mark(ctx context.Context) error { return n.mark(ctx, recorded) }

// MarkWithRollouts makes markers that the controller rolls, instead of those that are there: where
// its flags let it do nothing else, or where the gates of a rollout and what it tells matter. A
// suspended CronJob has none.
func (n *Namespace) MarkWithRollouts(ctx context.Context) error {
	if n.marked != "" {
		for _, name := range markers() {
			if err := n.Delete(ctx, Ref{Kind: n.marked, Name: name}); err != nil {
				return err
			}
		}
	}
	return n.mark(ctx, rolled)
}

func (n *Namespace) mark(ctx context.Context, kind string) error {
	if err := n.Apply(ctx, markerManifest(kind)); err != nil {
		return fmt.Errorf("make the markers: %w", err)
	}
	n.marked = kind
	return nil
}

// Quiet returns when the running controller has decided on everything that happened before.
func (n *Namespace) Quiet(ctx context.Context) error {
	var present []Ref
	if err := Await(ctx, "the controller to note what the markers run with, and the observer to see it", func(ctx context.Context) error {
		now, err := n.markersNow(ctx)
		if err != nil {
			return err
		}
		present = n.refs(now)
		for _, marker := range now {
			err = errors.Join(err, adopted(marker), n.Observer.hasSeen(marker))
		}
		return err
	}); err != nil {
		return err
	}
	if err := n.caughtUp(ctx); err != nil {
		return err
	}
	return n.markerRounds(ctx, present, n.Observer.decisions)
}

// QuietBy is Quiet for a controller that does not write: decided tells how often it has decided on
// a marker, by what it does instead.
func (n *Namespace) QuietBy(ctx context.Context, decided func(Ref) (int, error)) error {
	now, err := n.markersNow(ctx)
	if err != nil {
		return err
	}
	return n.markerRounds(ctx, n.refs(now), decided)
}

func (n *Namespace) markerRounds(ctx context.Context, present []Ref, decided func(Ref) (int, error)) error {
	for range rounds {
		if err := n.markerRound(ctx, present, decided); err != nil {
			return fmt.Errorf("the markers, which show that all before is decided: %w", err)
		}
	}
	return nil
}

// markersNow are the markers that exist. If there is none, none will come.
func (n *Namespace) markersNow(ctx context.Context) ([]metav1.Object, error) {
	var now []metav1.Object
	opts := metav1.ListOptions{LabelSelector: markerLabel}
	if n.marked == recorded {
		list, err := n.clients.typed.BatchV1().CronJobs(n.Name).List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			now = append(now, &list.Items[i])
		}
	} else {
		list, err := n.clients.typed.AppsV1().StatefulSets(n.Name).List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			now = append(now, &list.Items[i])
		}
	}
	if len(now) == 0 {
		return nil, final{fmt.Errorf("there is no marker in namespace %s to show that the controller is done", n.Name)}
	}
	return now, nil
}

func (n *Namespace) refs(markers []metav1.Object) []Ref {
	var all []Ref
	for _, marker := range markers {
		all = append(all, Ref{Kind: n.marked, Name: marker.GetName()})
	}
	return all
}

func (n *Namespace) markerRound(ctx context.Context, present []Ref, decided func(Ref) (int, error)) error {
	wanted := map[Ref]int{}
	for _, marker := range present {
		before, err := decided(marker)
		if err != nil {
			return err
		}
		wanted[marker] = before + 1
	}
	n.round++
	for _, marker := range present {
		source := Ref{Kind: "configmap", Name: marker.Name}
		if marker.Name == secretMarker {
			source.Kind = "secret"
		}
		if err := n.Edit(ctx, source, "round="+strconv.Itoa(n.round)); err != nil {
			return err
		}
	}
	for _, marker := range present {
		if err := Await(ctx, fmt.Sprintf("%s to be decided on, times: %d", marker, wanted[marker]), func(context.Context) error {
			times, err := decided(marker)
			if err != nil {
				return final{err}
			}
			if times < wanted[marker] {
				return fmt.Errorf("it is %d yet", times)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}
