package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/test/harness"
)

// counts are rollouts of a workload, by its ReplicaSets, and writes of Reroll in its namespace, by
// the audit log of the API server. Events are none.
type counts struct{ rollouts, writes int }

func (c counts) String() string {
	return fmt.Sprintf("%s, %s of Reroll", number(c.rollouts, "rollout"), number(c.writes, "write"))
}

func (c counts) since(earlier counts) counts {
	return counts{c.rollouts - earlier.rollouts, c.writes - earlier.writes}
}

func number(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "one " + what
	default:
		return fmt.Sprintf("%d %ss", n, what)
	}
}

// expect returns when Reroll has decided on all that came before. Then so much more has to have
// happened to the web server than at the last time, with no Warning about anything in its namespace
// and none in the log.
func (d *demo) expect(ctx context.Context, more counts, why string) error {
	seen, err := d.seen(ctx, d.shop)
	if err != nil {
		return err
	}
	return d.judge(ctx, seen, more, why)
}

func (d *demo) judge(ctx context.Context, seen, more counts, why string) error {
	if got := seen.since(d.until); got != more {
		return fmt.Errorf("seen were %s; expected was %s: %s", got, more, why)
	}
	d.until = seen
	return d.calm(ctx, d.shop)
}

// seen counts since the beginning.
func (d *demo) seen(ctx context.Context, ns *harness.Namespace) (counts, error) {
	d.story.Expect("Reroll to decide on all that came before")
	if err := d.own.Quiet(ctx); err != nil {
		return counts{}, err
	}
	rollouts, err := ns.Rolls(ctx, web())
	if err != nil {
		return counts{}, err
	}
	writes, err := d.writes(ns)
	return counts{rollouts, len(writes)}, err
}

// writes are those of Reroll in a namespace, whatever came of them. Its events are left out.
func (d *demo) writes(ns *harness.Namespace) ([]harness.Request, error) {
	requests, err := d.acts(ns)
	return slices.DeleteFunc(requests, func(r harness.Request) bool { return r.ObjectRef.Resource == "events" }), err
}

// acts are all requests of Reroll about a namespace that are no reads.
func (d *demo) acts(ns *harness.Namespace) ([]harness.Request, error) {
	requests, err := d.own.Requests(d.cluster.AuditLog())
	return slices.DeleteFunc(requests, func(r harness.Request) bool {
		return r.ObjectRef.Namespace != ns.Name || slices.Contains([]string{"get", "list", "watch"}, r.Verb)
	}), err
}

// calm fails if Reroll warns of something.
func (d *demo) calm(ctx context.Context, ns *harness.Namespace) error {
	events, err := ns.AllEvents(ctx)
	if err != nil {
		return err
	}
	for i := range events {
		if e := &events[i]; e.ReportingController == "reroll" && e.Type == corev1.EventTypeWarning && !d.foretold(e) {
			return fmt.Errorf("there is a Warning of Reroll about %s %s: %s %s; expected was none", e.Regarding.Kind, e.Regarding.Name, e.Reason, e.Note)
		}
	}
	if said := d.warnings(); len(said) > 0 {
		return fmt.Errorf("expected was no warning in Reroll's log, and there are %d:\n%s", len(said), strings.Join(said, "\n"))
	}
	return nil
}

// warnings are the lines of Reroll's log that are more than information. The demo edits its markers
// again and again, and prunes the page. Reroll is right to warn of that.
func (d *demo) warnings() []string {
	lines := slices.Concat(d.controller.Log.Holding(`"level":"warning"`), d.controller.Log.Holding(`"level":"error"`))
	return slices.DeleteFunc(lines, func(line string) bool {
		often := strings.Contains(line, `"msg":"Reloaded `) && strings.Contains(line, "'marker-")
		return often || d.pruned && strings.Contains(line, d.pageDeleted())
	})
}

// foretold reports whether a Warning is about the page that the demo has pruned.
func (d *demo) foretold(e *eventsv1.Event) bool {
	return d.pruned && e.Reason == notice.SourceMissing && e.Regarding.Name == web().Name && strings.HasPrefix(e.Note, d.pageDeleted())
}

// pageDeleted is how Reroll begins to warn that the page is missing.
func (d *demo) pageDeleted() string {
	return fmt.Sprintf("ConfigMap %s/%s was deleted; ", d.shop.Name, page().Name)
}

// warnsOfPage returns when Reroll has warned that the page is missing.
func (d *demo) warnsOfPage(ctx context.Context) error {
	d.story.Expect("Reroll to warn that the ConfigMap is missing")
	return harness.Await(ctx, "an event about the missing ConfigMap", func(ctx context.Context) error {
		events, err := d.shop.Events(ctx, web())
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events, func(e eventsv1.Event) bool { return d.foretold(&e) }) {
			return errors.New("there is none")
		}
		return nil
	})
}

// gone is nil when none of these objects of the web server is there.
func (d *demo) gone(ctx context.Context, refs ...harness.Ref) error {
	for _, ref := range refs {
		switch _, err := d.shop.Get(ctx, ref); {
		case err == nil:
			return errors.New(ref.String() + " is there")
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

func web() harness.Ref { return harness.Ref{Kind: "deployment", Name: "web"} }

func page() harness.Ref { return harness.Ref{Kind: "configmap", Name: "page"} }
