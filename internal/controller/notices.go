package controller

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Reroll notifies users of what they write while it runs, even if the watch was broken at that
// moment. It does not notify of older annotations, because each restart would repeat all notices. A
// standby emits nothing before it is the leader.

// notifyOfWorkload notifies of new mistakes in the annotations of a workload, and notes that the
// workload was opted in.
func (c *Controller) notifyOfWorkload(before *workload.Workload, w *workload.Workload) {
	c.notifyMistakesOfWorkload(before, w)
	c.noteOptedIn(policyOf(before), w)
}

func (c *Controller) notifyMistakesOfWorkload(before *workload.Workload, w *workload.Workload) {
	if !c.selectsNamespace(w.Key.Namespace) {
		return
	}
	var known []annotations.Mistake
	defaults := c.state.Defaults(w.Key.Namespace)
	if before != nil {
		known = before.AllMistakes(c.opts.AutoReloadAll, defaults)
	}
	c.notifyMistakes(subject{workload: w.Key}, w.UID, w.AllMistakes(c.opts.AutoReloadAll, defaults), known, func(mistakes []annotations.Mistake) { c.report.Notify(notice.Mistakes(w, mistakes)) })
}

// notifyOfSource notifies of new mistakes in the annotations of a source.
func (c *Controller) notifyOfSource(src *source.Source) {
	if !c.selectsNamespace(src.Key.Namespace) {
		return
	}
	var known []annotations.Mistake
	if before, ok := c.state.Source(src.Key); ok && before.UID == src.UID {
		known = before.Mistakes
	}
	c.notifyMistakesOfSource(src, known)
}

// notifyOfClass notifies of new mistakes in the annotations of a SecretProviderClass, which exists
// before any status reports its data.
func (c *Controller) notifyOfClass(before, now *source.Source) {
	if !c.selectsNamespace(now.Key.Namespace) {
		return
	}
	var known []annotations.Mistake
	if before.UID == now.UID {
		known = before.Mistakes
	}
	c.notifyMistakesOfSource(now, known)
}

func (c *Controller) notifyMistakesOfSource(src *source.Source, known []annotations.Mistake) {
	c.notifyMistakes(subject{source: src.Key}, src.UID, src.Mistakes, known, func(mistakes []annotations.Mistake) { c.report.Notify(notice.MistakesOfSource(src, mistakes)) })
}

func newAmong(mistakes, known []annotations.Mistake) []annotations.Mistake {
	return slices.DeleteFunc(slices.Clone(mistakes), func(m annotations.Mistake) bool { return slices.Contains(known, m) })
}

// policyOf returns nil for a workload that was not known.
func policyOf(w *workload.Workload) *policy.Policy {
	if w == nil {
		return nil
	}
	return &w.Policy
}

// noteOptedIn notes that the policy of a workload differs. Before is nil if the workload was not
// known.
func (c *Controller) noteOptedIn(before *policy.Policy, w *workload.Workload) {
	if !c.selectsNamespace(w.Key.Namespace) || !w.Policy.OptedIn(c.opts.AutoReloadAll) {
		return
	}
	wasIn := before != nil && before.OptedIn(c.opts.AutoReloadAll)
	if wasIn && before.Equal(w.Policy) {
		return
	}
	n := newcomer{}
	if wasIn {
		n = newcomer{wasIn: true, named: map[policy.NamedSource]struct{}{}}
		for _, named := range before.Named() {
			n.named[named] = struct{}{}
		}
	}
	n.due = c.reconciledBy(w)
	c.with(w.Key, func(r *record) {
		if r.newcomer != nil { // no event has shown the sources from before yet
			n.wasIn, n.named = r.newcomer.wasIn, r.newcomer.named
		}
		r.newcomer = &n
	})
}

// newcomer is a workload whose annotations now select other sources, with the policy from before.
type newcomer struct {
	wasIn bool
	named map[policy.NamedSource]struct{}
	// due is when another leader, if there is one, has emitted the notice.
	due time.Time
}

// notifyOptedIn emits which sources are watched for a workload that was opted in, once that is
// known, and then which of the sources that it requires do not exist.
func (c *Controller) notifyOptedIn(facts *reload.Facts, d reload.Decision) {
	now, ok := c.state.Workload(facts.Workload.Key)
	if !ok || !now.Policy.Equal(facts.Workload.Policy) {
		return // its annotations changed again, and it is queued for that
	}
	var n *newcomer
	c.with(facts.Workload.Key, func(r *record) { n, r.newcomer = r.newcomer, nil })
	if n != nil && !n.wasIn {
		awaited := slices.DeleteFunc(facts.Awaited(), func(a reload.Concern) bool {
			kind := a.Source.Key.Kind
			return !c.opts.ReadsSource(kind) && (!kind.Reported() || !c.opts.Classes)
		})
		all := slices.Concat(facts.Concerns, awaited)
		slices.SortFunc(all, reload.CompareConcerns) // independent of the order of their changes
		about := c.state.OptedInBy(&facts.Workload)
		c.report.Notify(notice.OptedIn(&about, all))
	}
	c.noteMissing(facts, d, n)
}

// notifyLeftToOwner emits, for a workload that was opted in, that its owner has to be opted in
// instead.
func (c *Controller) notifyLeftToOwner(w *workload.Workload, owner workload.Key) {
	n := c.recordOf(w.Key).newcomer
	of, there := c.state.Workload(owner)
	if n != nil && !n.wasIn && there && !of.Policy.OptedIn(c.opts.AutoReloadAll) {
		c.report.Notify(notice.LeftTo(w, owner))
	}
}

// notifyTooNew reports whether a workload is left alone because its ledger has a newer format.
func (c *Controller) notifyTooNew(w *workload.Workload, d reload.Decision) {
	if d.TooNew {
		c.notifyOnce(w.Key, notice.TooNew(w))
	} else {
		c.withdraw(w.Key, notice.LedgerTooNew)
	}
}

// notifyBesideReloader notifies that another controller also rolls the workload, unless the report
// of a revert does.
func (c *Controller) notifyBesideReloader(w *workload.Workload, d reload.Decision) {
	if !d.BesideReloader {
		return
	}
	if n := notice.BesideReloader(w); c.isNewNotice(w.Key, n) && d.Reverted == nil {
		n.Once = n.Text
		c.report.Notify(n)
	}
}

// notifyBesideInstallation notifies that another installation also rolls the workload.
func (c *Controller) notifyBesideInstallation(facts *reload.Facts) {
	if facts.TakenOver() {
		c.notifyOnce(facts.Workload.Key, notice.BesideInstallation(&facts.Workload))
	}
}

// notifyMayNotStay emits that the marks of reloads will probably be removed, and why.
func (c *Controller) notifyMayNotStay(w *workload.Workload, d reload.Decision) {
	if d.Doubt != "" {
		c.notifyOnce(w.Key, notice.MayNotStay(w, d.Doubt))
	} else {
		c.withdraw(w.Key, notice.MarkMayNotStay)
	}
}
