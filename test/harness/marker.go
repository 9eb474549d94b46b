package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
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
const (
	markerPrefix    = "marker-"
	configMapMarker = markerPrefix + "configmap"
	secretMarker    = markerPrefix + "secret"
	rounds          = 2
)

// markerLabel is on the markers alone.
const markerLabel = "marker"

func markers() []string { return []string{configMapMarker, secretMarker} }

// Rollouts of markers are half of all. One of a StatefulSet takes two writes of Kubernetes, and one
// of a Deployment takes six.
const markerManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: marker-configmap}
data: {round: "0"}
---
apiVersion: v1
kind: Secret
metadata: {name: marker-secret}
stringData: {round: "0"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: marker-configmap, labels: {marker: configmap}, annotations: {reloader.stakater.com/auto: "true", reroll.dev/churn: "off"}}
spec:
  replicas: 0
  serviceName: marker
  selector: {matchLabels: {marker: configmap}}
  template:
    metadata: {labels: {marker: configmap}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: marker, image: marker, envFrom: [{configMapRef: {name: marker-configmap}}]}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: marker-secret, labels: {marker: secret}, annotations: {reloader.stakater.com/auto: "true", reroll.dev/churn: "off"}}
spec:
  replicas: 0
  serviceName: marker
  selector: {matchLabels: {marker: secret}}
  template:
    metadata: {labels: {marker: secret}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: marker, image: marker, envFrom: [{secretRef: {name: marker-secret}}]}]
`

// Mark makes the markers in a namespace that was made without.
func (n *Namespace) Mark(ctx context.Context) error {
	if err := n.Apply(ctx, markerManifest); err != nil {
		return fmt.Errorf("make the markers: %w", err)
	}
	return nil
}

// Quiet returns when the running controller has decided on everything that happened before.
func (n *Namespace) Quiet(ctx context.Context) error {
	var present []Ref
	if err := Await(ctx, "the controller to note what the markers run with, and the observer to see it", func(ctx context.Context) error {
		sets, err := n.markersNow(ctx)
		if err != nil {
			return err
		}
		present = refs(sets)
		for i := range sets {
			err = errors.Join(err, adopted(&sets[i]), n.Observer.hasSeen(&sets[i]))
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
	sets, err := n.markersNow(ctx)
	if err != nil {
		return err
	}
	return n.markerRounds(ctx, refs(sets), decided)
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
func (n *Namespace) markersNow(ctx context.Context) ([]appsv1.StatefulSet, error) {
	list, err := n.clients.typed.AppsV1().StatefulSets(n.Name).List(ctx, metav1.ListOptions{LabelSelector: markerLabel})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, final{fmt.Errorf("there is no marker in namespace %s to show that the controller is done", n.Name)}
	}
	return list.Items, nil
}

func refs(markers []appsv1.StatefulSet) []Ref {
	var all []Ref
	for i := range markers {
		all = append(all, Ref{Kind: "statefulset", Name: markers[i].Name})
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
