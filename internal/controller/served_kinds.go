package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
)

// customFeed watches a kind that the API server may not serve; then the caches sync without it.
func (c *Controller) customFeed(k kinds.Kind, watched kubeapi.Watched, shared *everywhere) feed {
	h := c.workloads(k, watched.Namespace)
	return c.watchWhereServed(c.feed(watched, h), h, &servedKind{
		kind: k, namespace: watched.Namespace, everywhere: shared, use: k.Use,
		verbs: "list, watch, patch", without: "so they are not rolled",
	})
}

// watchWhereServed records whether a resource is served, and counts it as synced unless it is.
func (c *Controller) watchWhereServed(f feed, h *handler, p *servedKind) feed {
	p.clock, p.log, p.enough, p.gone = c.clock, c.log, f.enough, h.forget
	f.Open = attended{Opener: f.Open, answered: p.answered}
	f.Ignore = p.ignores
	return f
}

// attended records the outcome of each request.
type attended struct {
	intake.Opener
	answered func(error)
}

// Watch opens a watch.
func (a attended) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w, err := a.Opener.Watch(ctx, opts)
	a.answered(err)
	return w, err
}

// List reads one page.
func (a attended) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := a.Opener.List(ctx, opts)
	a.answered(err)
	return list, err
}

// servedKind is whether a custom kind is served and may be watched. It logs each change once. It has
// many fields because half of them are what its messages and requests need, and never change.
type servedKind struct {
	kind      kinds.Kind
	namespace string
	// everywhere is shared by all namespaces.
	everywhere *everywhere
	use        kinds.Use
	// verbs are the required permissions, and without describes the consequence of lacking them.
	verbs, without string
	clock          clock.PassiveClock
	log            *slog.Logger
	// enough marks the feed as synced, so that nothing waits for it. Gone forgets its objects.
	enough, gone func()
	// still is called with each answer as long as the objects count as deleted; nil for nothing.
	still func()
	// barred is called with each answer that reading is not permitted; nil for nothing.
	barred func()

	mu    sync.Mutex
	is    availability
	since time.Time
	ended bool
	// failing is when a series of failures began, and again when the delay that the server
	// requested with the last of them ends.
	failing, again time.Time
}

type availability uint8

const (
	notChecked availability = iota
	present
	absent
	forbidden
)

// everywhere is what the API server serves, which is the same in all namespaces.
type everywhere struct {
	mu sync.Mutex
	is availability
}

// becomes records the availability, and reports whether it changed.
func (e *everywhere) becomes(is availability) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	differs := e.is != is
	e.is = is
	return differs
}

// absenceCounts is how long a kind must be absent before its objects count as deleted. When a
// CustomResourceDefinition is removed, the API server deletes its objects one by one, and the watch
// reports that. The delay is for a watch that broke: an API server that starts, or that does not
// know the kind yet, may briefly answer NotFound.
const absenceCounts = time.Minute

func (p *servedKind) answered(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.is
	switch {
	case err == nil:
		p.is = present
	case apierrors.IsNotFound(err):
		p.is = absent
	case apierrors.IsForbidden(err):
		if p.is = forbidden; p.barred != nil {
			p.barred()
		}
	default:
		return // the error does not show whether the kind is served
	}
	if p.is != before {
		p.since, p.ended = p.clock.Now(), false
		p.logChange(before, err)
	}
	if p.is == absent && !p.ended && p.clock.Since(p.since) >= absenceCounts {
		p.ended = true
		p.gone()
	}
	if p.is == absent && p.ended && p.still != nil {
		p.still()
	}
	if p.is != present {
		p.enough()
	}
}

// mayFail is how long watching a custom kind may fail before Reroll logs it. While a
// CustomResourceDefinition is installed or removed, the API server closes watches, requests
// retries, and forgets versions.
const mayFail = time.Minute

// ignores reports whether a failure is reported elsewhere, or whether it is too early to report it.
func (p *servedKind) ignores(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		p.again = time.Time{}
		return true
	}
	now := p.clock.Now()
	if now.Sub(p.again) >= mayFail {
		p.failing = now
	}
	seconds, _ := apierrors.SuggestsClientDelay(err)
	p.again = now.Add(time.Duration(seconds) * time.Second)
	return now.Sub(p.failing) < mayFail
}

func (p *servedKind) logChange(before availability, err error) {
	args := []any{"resource", p.kind.Resource.GroupResource().String()}
	if p.kind.Resource.Resource == "" {
		args = []any{"kind", p.kind.Object().GroupKind().String()}
	}
	switch {
	case p.is == forbidden || before == forbidden:
		if p.namespace != "" {
			args = append(args, "namespace", p.namespace)
		}
	case !p.everywhere.becomes(p.is):
		return // another namespace has reported it
	}
	switch {
	case p.is == present && before == forbidden:
		p.log.Info(p.kind.Title+" may be watched now; watching them", args...)
	case p.is == present && before != notChecked:
		p.log.Info(p.kind.Title+" are served now; watching them", args...)
	case p.is == absent && before == notChecked:
		say := p.log.Info
		if p.use != kinds.Always {
			say = p.log.Debug // most of these kinds are never installed
		}
		say(p.kind.Title+" are not installed; Reroll watches them once they are", args...)
	case p.is == absent:
		p.log.Info(p.kind.Title+" are no longer served; Reroll watches them again once they are", args...)
	case p.is == forbidden:
		say := p.log.Warn
		if p.use != kinds.Always {
			say = p.log.Info
		}
		rule := fmt.Sprintf("apiGroups: [%s], resources: [%s], verbs: [%s]", p.kind.Resource.Group, p.plural(err), p.verbs)
		say(p.kind.Title+" cannot be watched for lack of permission, "+p.without+" until a role has this rule", append(args, "rule", rule, "error", err.Error())...)
	}
}

// plural is the name of the resource. If discovery did not provide it, the rejected request
// contains it.
func (p *servedKind) plural(refused error) string {
	if status, ok := errors.AsType[*apierrors.StatusError](refused); ok && p.kind.Resource.Resource == "" && status.ErrStatus.Details != nil {
		return status.ErrStatus.Details.Kind
	}
	return p.kind.Resource.Resource
}
