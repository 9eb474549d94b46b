package inspect

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Explain returns the explanation for one workload, and for one of its sources if the user named
// one.
func (o *Objects) Explain(ns, name, source string, pods Pods, now time.Time) (*Explanation, error) {
	key, err := o.Workload(ns, name)
	if err != nil {
		return nil, err
	}
	e := o.Evaluate(pods, now)
	x, err := e.explain(key)
	if err != nil || source == "" {
		return x, err
	}
	key = x.Workload.Key
	named, err := o.Source(ns, source)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(x.Sources, func(s Source) bool { return s.Key == named.Local() })
	if i < 0 {
		facts, _ := e.state.Facts(key)
		s := e.source(&facts, &x.Answer, named.Local())
		x.OnlySource = &s
		return x, nil
	}
	x.OnlySource = &x.Sources[i]
	return x, nil
}

// explain returns the explanation for one workload, which must exist.
func (e *Evaluation) explain(user workload.Key) (*Explanation, error) {
	o := e.objects
	x := &Explanation{Settings: o.settings, Now: e.now, NoDefaults: o.noDefaults}
	if known := o.namespace(user.Namespace); known != nil {
		x.OfNamespace = known.Mistakes
	}
	key, err := o.TemplateOwner(user)
	if err != nil {
		return nil, err
	}
	if key != user {
		x.TemplateUser = &user
	}
	x.Answer = e.Of(key)
	x.OfWorkload = o.mistakesOf(&x.Workload)
	return x, nil
}

// LastEvent returns the newest event of the controller about a workload. It returns nil if there is
// none or the user may not read events.
func (c *Cluster) LastEvent(ctx context.Context, w *workload.Workload) *LastEvent {
	list, err := c.CoreEvents(w.Key.Namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": w.Key.Object(), "involvedObject.name": w.Key.Name, "involvedObject.uid": string(w.UID),
	}.String()})
	if err != nil {
		return nil // without an event, the output has one line less
	}
	var last *corev1.Event
	for i := range list.Items {
		event := &list.Items[i]
		if event.ReportingController == report.ReportingController && (last == nil || event.EventTime.After(last.EventTime.Time)) {
			last = event
		}
	}
	if last == nil {
		return nil
	}
	return &LastEvent{Reason: last.Reason, Note: last.Message, At: last.EventTime.Time}
}
