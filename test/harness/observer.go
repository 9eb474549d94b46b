package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Observer counts the rollouts of the workloads of a namespace. It sees every version of
// everything, so nothing is missed because it came and went between two looks.
//
// A rollout is another revision in use: for a Deployment or a Rollout another ReplicaSet, for a
// StatefulSet or DaemonSet another ControllerRevision, made anew or brought back. The first one of
// a workload is none. It does not matter who caused it: a user's new image is a rollout as well.
// metadata.generation does not count, since a paused Deployment, a change of scale or an annotation
// raise it and no pod is replaced; for the same reason pods alone do not count, since a change of
// scale or a lost node makes some too. A revision counts even when nothing runs it (no replicas, or
// the update strategy OnDelete): the template was changed, and that is what a controller answers
// for.
type Observer struct {
	mu       sync.Mutex
	blind    error // why it does not see everything any more
	seen     map[types.UID]uint64
	lineages map[types.UID]*lineage
	pods     map[types.UID]uint64 // the version that a pod was created with
	owners   map[types.UID]Ref    // of ReplicaSets and Jobs
	made     map[types.UID]int    // how many pods a ReplicaSet or Job has made
	contents map[types.UID]content
	timeline []Sighting
	// ledgers are the last ones of the markers, and decided is how often they have changed.
	ledgers map[Ref]string
	decided map[Ref]int
}

// content is that of a ConfigMap or Secret.
type content struct {
	text    string
	changed uint64 // the version in which it became what it is
}

func observe(ctx context.Context, client kubernetes.Interface, namespace string) (*Observer, error) {
	o := &Observer{
		seen:     map[types.UID]uint64{},
		lineages: map[types.UID]*lineage{},
		pods:     map[types.UID]uint64{},
		owners:   map[types.UID]Ref{},
		made:     map[types.UID]int{},
		contents: map[types.UID]content{},
		ledgers:  map[Ref]string{},
		decided:  map[Ref]int{},
	}
	apps, batch, core := client.AppsV1().RESTClient(), client.BatchV1().RESTClient(), client.CoreV1().RESTClient()
	for _, watched := range []struct {
		client   cache.Getter
		resource string
		labelled string
		see      func(change) error
	}{
		{apps, "replicasets", "", o.seeReplicaSet},
		{apps, "controllerrevisions", "", o.seeControllerRevision},
		{apps, "statefulsets", markerLabel, o.seeMarker(rolled)},
		{batch, "cronjobs", markerLabel, o.seeMarker(recorded)},
		{batch, "jobs", "", o.seeJob},
		{core, "pods", "", o.seePod},
		{core, "configmaps", "", o.seeContent},
		{core, "secrets", "", o.seeContent},
	} {
		lw := cache.NewFilteredListWatchFromClient(watched.client, watched.resource, namespace, func(opts *metav1.ListOptions) {
			opts.LabelSelector = watched.labelled
		})
		deliver := func(c change) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.seen[c.object.GetUID()] = c.version
			return watched.see(c)
		}
		lost := func(err error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.blind == nil {
				o.blind = fmt.Errorf("the observer does not see all %s of namespace %s any more: %w", watched.resource, namespace, err)
			}
		}
		if err := follow(ctx, lw, deliver, lost); err != nil {
			return nil, fmt.Errorf("%s: %w", watched.resource, err)
		}
	}
	return o, nil
}

func (o *Observer) seeReplicaSet(c change) error {
	set := c.object.(*appsv1.ReplicaSet)
	owner := metav1.GetControllerOf(set)
	if c.deleted || owner == nil {
		return nil
	}
	o.owners[set.UID] = Ref{Kind: strings.ToLower(owner.Kind), Name: owner.Name}
	key, known := map[string]string{
		"Deployment": "deployment.kubernetes.io/revision",
		"Rollout":    "rollout.argoproj.io/revision",
	}[owner.Kind]
	text, numbered := set.Annotations[key]
	if !known || !numbered {
		return nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("the revision of ReplicaSet %s: %w", set.Name, err)
	}
	o.seeRevision(c, "ReplicaSet", owner, number)
	return nil
}

func (o *Observer) seeControllerRevision(c change) error {
	revision := c.object.(*appsv1.ControllerRevision)
	if owner := metav1.GetControllerOf(revision); !c.deleted && owner != nil {
		o.seeRevision(c, "ControllerRevision", owner, revision.Revision)
	}
	return nil
}

// seeMarker counts what the controller notes on a marker: each of its decisions is another ledger.
func (o *Observer) seeMarker(kind string) func(change) error {
	return func(c change) error {
		marker := Ref{Kind: kind, Name: c.object.GetName()}
		now := c.object.GetAnnotations()[ledger]
		if c.deleted || now == o.ledgers[marker] {
			return nil
		}
		o.ledgers[marker] = now
		o.decided[marker]++
		return nil
	}
}

// decisions returns how often the controller has decided on a marker.
func (o *Observer) decisions(marker Ref) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.decided[marker], o.blind
}

// seePod keeps when each pod was made. Of a pod that was there before, this was not seen.
func (o *Observer) seePod(c change) error {
	if _, known := o.pods[c.object.GetUID()]; !known && !c.baseline {
		o.pods[c.object.GetUID()] = c.version
		if owner := metav1.GetControllerOf(c.object); owner != nil {
			o.made[owner.UID]++
		}
	}
	return nil
}

func (o *Observer) seeContent(c change) error {
	ref := Ref{Kind: "configmap", Name: c.object.GetName()}
	var data any
	switch source := c.object.(type) {
	case *corev1.ConfigMap:
		data = []any{source.Data, source.BinaryData}
	case *corev1.Secret:
		ref.Kind = "secret"
		data = source.Data
	}
	if c.deleted {
		o.note(ref, "deleted", false)
		return nil
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	last, known := o.contents[c.object.GetUID()]
	if known && last.text == string(text) {
		return nil
	}
	what := "created"
	if known {
		what = "another content"
	}
	o.contents[c.object.GetUID()] = content{text: string(text), changed: c.version}
	if !c.baseline {
		o.note(ref, what, false)
	}
	return nil
}

// Rollouts returns how often a workload has rolled, those of an earlier object of the same name
// included.
func (o *Observer) Rollouts(workload Ref) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for _, l := range o.lineages {
		if l.workload == workload {
			count += l.rollouts
		}
	}
	return count, o.blind
}

// Made returns how many pods were made for a workload by way of ReplicaSets or Jobs. A restart that
// leaves the template alone shows in nothing else.
func (o *Observer) Made(workload Ref) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for set, owner := range o.owners {
		if owner == workload {
			count += o.made[set]
		}
	}
	return count, o.blind
}

// knows is nil if a workload ever had a revision. A count of 0 means nothing for one whose name is
// wrong.
func (o *Observer) knows(workload Ref) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var known []string
	for _, l := range o.lineages {
		if l.workload == workload {
			return nil
		}
		known = append(known, l.workload.String())
	}
	slices.Sort(known)
	return fmt.Errorf("%s never had a revision; those that had one are %v", workload, known)
}

// hasSeen reports whether everything was seen that has led to this version of an object.
func (o *Observer) hasSeen(obj metav1.Object) error {
	want, err := version(obj)
	if err != nil {
		return final{err}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.blind != nil {
		return final{o.blind}
	}
	if o.seen[obj.GetUID()] < want {
		return fmt.Errorf("the observer has not seen version %d of %s yet", want, obj.GetName())
	}
	return nil
}
