package metainfo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// CoverageAnnotation is on the ConfigMap and holds the time since when the controller covers what
// it covers. It is an annotation because Reloader, which writes the data of the same ConfigMap, has
// nothing similar.
const CoverageAnnotation = annotations.Coverage

// Scope is which objects the controller covers by its settings.
type Scope struct {
	// AutoReloadAll covers workloads that do not ask for it.
	AutoReloadAll bool
	// Settings stand for all others.
	Settings string
}

// coverage is the text of the annotation. Times are in seconds since 1970, and 0 where the first of
// two writes was the last.
type coverage struct {
	Settings string `json:"settings"`
	Since    int64  `json:"since,omitempty"`
	All      bool   `json:"all"`
	AllSince int64  `json:"allSince,omitempty"`
}

// Coverage returns since when the controller covers what is covered under the present settings. If
// they are others than before, that is now, by the clock of the API server: the first write brings
// its time, and the second one notes it.
func Coverage(ctx context.Context, client clientset.Interface, info Info, scope Scope) (reload.Coverage, error) {
	own := client.ConfigMaps(info.Namespace)
	cm, err := own.Get(ctx, Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		cm = info.empty()
	case err != nil:
		return reload.Coverage{}, fmt.Errorf("read ConfigMap %s/%s: %w", info.Namespace, Name, err)
	}
	known := readCoverage(cm)
	next := known.under(scope)
	if next == known && next.complete() {
		return known.times(), nil
	}
	for range 2 {
		setCoverage(cm, next)
		if cm.ResourceVersion == "" {
			cm, err = own.Create(ctx, cm, metav1.CreateOptions{FieldManager: workload.FieldManager})
		} else {
			cm, err = own.Update(ctx, cm, metav1.UpdateOptions{FieldManager: workload.FieldManager})
		}
		if err != nil {
			return reload.Coverage{}, fmt.Errorf("write ConfigMap %s/%s: %w", info.Namespace, Name, err)
		}
		next = next.since(writtenAt(cm).Unix())
	}
	return next.times(), nil
}

// ReadCoverage returns the coverage in the ConfigMap, which is empty if another program wrote it.
func ReadCoverage(cm *corev1.ConfigMap) reload.Coverage { return readCoverage(cm).times() }

func readCoverage(cm *corev1.ConfigMap) coverage {
	var c coverage
	if err := json.Unmarshal([]byte(cm.Annotations[CoverageAnnotation]), &c); err != nil {
		return coverage{} // it is written anew
	}
	return c
}

func setCoverage(cm *corev1.ConfigMap, c coverage) {
	text, _ := json.Marshal(c) // numbers and a string always can be
	if cm.Annotations == nil {
		cm.Annotations = map[string]string{}
	}
	cm.Annotations[CoverageAnnotation] = string(text)
}

// under returns what is known under the present settings. What has changed has no time yet.
func (c coverage) under(scope Scope) coverage {
	if c.Settings != scope.Settings {
		c.Settings, c.Since = scope.Settings, 0
	}
	if c.All != scope.AutoReloadAll || !c.All {
		c.All, c.AllSince = scope.AutoReloadAll, 0
	}
	return c
}

// since completes the times that are missing.
func (c coverage) since(now int64) coverage {
	if c.Since == 0 {
		c.Since = now
	}
	if c.All && c.AllSince == 0 {
		c.AllSince = now
	}
	return c
}

// complete reports whether it has all of its times: the second write may have failed.
func (c coverage) complete() bool { return c.Since != 0 && (!c.All || c.AllSince != 0) }

func (c coverage) times() reload.Coverage {
	var times reload.Coverage
	if c.Since != 0 {
		times.Since = time.Unix(c.Since, 0)
	}
	if c.AllSince != 0 {
		times.AllSince = time.Unix(c.AllSince, 0)
	}
	return times
}

// writtenAt is when we have written last, by the clock of the API server.
func writtenAt(cm *corev1.ConfigMap) time.Time {
	newest := cm.CreationTimestamp.Time
	for i := range cm.ManagedFields {
		if entry := &cm.ManagedFields[i]; entry.Manager == workload.FieldManager && entry.Time != nil && entry.Time.After(newest) {
			newest = entry.Time.Time
		}
	}
	return newest
}
