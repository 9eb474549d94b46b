package controller

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A freeze is kept in an annotation: of a namespace, or for all of them of the ConfigMap
// reloader-meta-info. So restarts keep it, and it ends by the clock, without a write.

// Freezes is where users freeze the reloads of all namespaces.
type Freezes interface {
	// Namespace is the namespace of the ConfigMap.
	Namespace() string
	// Frozen reads the text of the freeze, empty if there is none.
	Frozen(ctx context.Context) (string, error)
}

// noteFreeze is called with each version of a ConfigMap reloader-meta-info that the watch shows.
func (c *Controller) noteFreeze(cm *corev1.ConfigMap) {
	if c.opts.Freezes != nil && cm.Namespace == c.opts.Freezes.Namespace() {
		c.putFreeze(metainfo.ReadFreeze(cm))
	}
}

// forgetFreeze is for ConfigMaps that no longer exist.
func (c *Controller) forgetFreeze(gone func(types.NamespacedName) bool) {
	if c.watchesFreeze() && gone(types.NamespacedName{Namespace: c.opts.Freezes.Namespace(), Name: metainfo.Name}) {
		c.putFreeze("")
	}
}

// putFreeze stores the freeze of all namespaces. What waits is checked again if it has changed.
func (c *Controller) putFreeze(text string) {
	if before := c.freeze.Swap(&text); before != nil && *before == text || before == nil && text == "" {
		return
	}
	switch frozen, is := gate.FrozenBy(text, true, c.clock.Now()); {
	case !is:
		c.log.Info("the freeze of all namespaces has ended")
	case frozen.Err != nil:
		c.log.Warn("no reload starts: the annotation " + annotations.Freeze + " of ConfigMap " + metainfo.Name + " cannot be read: " + frozen.Err.Error() + ". To remove it: " + frozen.Thaw(""))
	default:
		c.log.Info("no reload starts: "+frozen.Why(), "until", frozen.Until.Format(time.RFC3339))
	}
	c.checkGates("")
}

// refreshDefaults brings the facts up to date that may have changed since they were collected:
// listing Pods may have taken a while.
func (c *Controller) refreshDefaults(facts *reload.Facts) {
	facts.Freeze = c.frozenAll()
	facts.Defaults = c.state.Defaults(facts.Workload.Key.Namespace)
	facts.Workload.Policy = facts.Workload.Policy.Under(facts.Defaults)
}

func (c *Controller) frozenAll() string {
	if text := c.freeze.Load(); text != nil {
		return *text
	}
	return ""
}

// watchesFreeze reports whether the watch of ConfigMaps covers the one with the freeze.
func (c *Controller) watchesFreeze() bool {
	return c.opts.Freezes != nil && c.opts.ReadsSource(source.ConfigMap) && c.opts.LeavesOut(c.opts.Freezes.Namespace(), nil) == rules.NotLeftOut
}

// asksFreeze reports whether the ConfigMap has to be read again and again, because no watch covers
// it.
func (c *Controller) asksFreeze() bool { return c.opts.Freezes != nil && !c.watchesFreeze() }

// freezeAgain is how often that is done, and freezeRetry is how soon after a failure at the start.
const (
	freezeAgain = 10 * time.Second
	freezeRetry = time.Second
)

// learnFreeze reads the freeze before the first reload. It returns when that has succeeded, or if a
// missing permission keeps it from succeeding.
func (c *Controller) learnFreeze(ctx context.Context) {
	for c.asksFreeze() {
		err := c.askFreeze(ctx)
		if err == nil || apierrors.IsForbidden(err) || ctx.Err() != nil {
			return
		}
		select {
		case <-c.clock.After(freezeRetry):
		case <-ctx.Done():
			return
		}
	}
}

// serveFreeze reads the freeze from time to time.
func (c *Controller) serveFreeze(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case <-c.clock.After(freezeAgain):
			_ = c.askFreeze(ctx) // it is logged, and the freeze before counts
		case <-stop:
			return
		}
	}
}

func (c *Controller) askFreeze(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	text, err := c.opts.Freezes.Frozen(ctx)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			c.log.Warn("could not read whether reloads are frozen", "error", err.Error())
		}
		return err
	}
	c.putFreeze(text)
	return nil
}

// notifyFrozen emits on a workload that its reload waits for the end of a freeze, once each time.
func (c *Controller) notifyFrozen(w *workload.Workload, d *reload.Decision, answer gate.Answer) {
	if c.recordOf(w.Key).awaits.by == answer.By {
		return
	}
	ends := ""
	if !answer.Until.IsZero() {
		ends = answer.When(time.UTC)
	}
	c.notifyWait(d, answer, notice.HeldByFreeze(w, d.Changes[len(d.Changes)-1].Source.Key, answer.Why, ends))
}
