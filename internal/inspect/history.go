package inspect

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mostEvents bounds the events of one response.
const mostEvents = 500

// Events returns the events of the controller about one workload, or about all objects of its
// namespace if its name is empty, the newest first. Digests in their texts are removed, because one
// may be that of a Secret.
func (v *View) Events(ctx context.Context, about workload.Key) ([]LastEvent, error) {
	var from *origin
	if err := v.with(func(is *origin) error { from = is; return nil }); err != nil {
		return nil, err
	}
	if from.cluster == nil {
		return nil, unusable("events are not read here")
	}
	selector := fields.Set{"reportingComponent": report.ReportingController}
	if about.Name != "" {
		selector["involvedObject.kind"], selector["involvedObject.name"] = about.Object(), about.Name
	}
	list, err := from.cluster.CoreEvents(about.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String(), Limit: mostEvents})
	switch {
	case apierrors.IsForbidden(err):
		return nil, unusable("events may not be listed here")
	case err != nil:
		return nil, fmt.Errorf("list events: %w", err)
	}
	var all []LastEvent
	for i := range list.Items {
		event := &list.Items[i]
		if event.ReportingController != report.ReportingController {
			continue
		}
		all = append(all, LastEvent{Reason: event.Reason, Note: WithoutDigests(event.Message), At: timeOfEvent(event), About: aboutOf(event)})
	}
	slices.SortStableFunc(all, func(a, b LastEvent) int { return b.At.Compare(a.At) })
	return all, nil
}

func timeOfEvent(event *corev1.Event) time.Time {
	if event.EventTime.IsZero() {
		return event.CreationTimestamp.Time
	}
	return event.EventTime.Time
}

func aboutOf(event *corev1.Event) workload.Key {
	return workload.Key{Kind: event.InvolvedObject.Kind, Namespace: event.InvolvedObject.Namespace, Name: event.InvolvedObject.Name}
}

// digests matches the digests in notes: in the command that approves data, and by themselves.
var digests = regexp.MustCompile(` --digest=\S+|\b[0-9a-f]{32,}\b`)

// WithoutDigests returns a text on one line, without the digests in it.
func WithoutDigests(text string) string { return digests.ReplaceAllString(report.OneLine(text), "") }
