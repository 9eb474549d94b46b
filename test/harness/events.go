package harness

import (
	"context"
	"fmt"
	"strings"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Events returns the events about an object.
func (n *Namespace) Events(ctx context.Context, about Ref) ([]eventsv1.Event, error) {
	all, err := n.AllEvents(ctx)
	if err != nil {
		return nil, err
	}
	kind := schema.ParseGroupResource(about.Kind)
	var events []eventsv1.Event
	for _, e := range all {
		ofGroup := kind.Group == "" || strings.HasPrefix(e.Regarding.APIVersion, kind.Group+"/")
		if strings.EqualFold(e.Regarding.Kind, kind.Resource) && ofGroup && e.Regarding.Name == about.Name {
			events = append(events, e)
		}
	}
	return events, nil
}

// AllEvents returns the events of the namespace.
func (n *Namespace) AllEvents(ctx context.Context) ([]eventsv1.Event, error) {
	list, err := n.clients.typed.EventsV1().Events(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the events of namespace %s: %w", n.Name, err)
	}
	return list.Items, nil
}

// Times returns how often an event was reported: one object stands for a series of equal ones.
func Times(e *eventsv1.Event) int {
	if e.Series != nil {
		return int(e.Series.Count)
	}
	return max(1, int(e.DeprecatedCount))
}
