package controller

import (
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sent is a write whose response was lost and that has to be reported.
type sent struct {
	ledger   string
	decision reload.Decision
	// at is when it was sent, or later.
	at time.Time
}

// isRefusal reports whether a write had no effect and never will. An earlier write whose response
// was lost may be the reason.
func isRefusal(err error) bool {
	answer, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	code := answer.ErrStatus.Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// The API server may reject a reload for ever, for example because of an admission policy, or
// answer with errors for ever, because a webhook is down. Other workloads wait for neither: after
// three rejections, or six errors, which may also mean that the API server itself is down for a
// moment.
const (
	rejectionWeight = 2
	errorWeight     = 1
	refusedOften    = 6
)

// countRefusal counts a write that failed. A workload whose ledger cannot be written cannot be
// reloaded either. A conflict, or too many requests, are no answer to the write itself.
func (c *Controller) countRefusal(key workload.Key, err error) {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsTooManyRequests(err) {
		return
	}
	weight := errorWeight
	if isRefusal(err) {
		weight = rejectionWeight
	}
	c.with(key, func(r *record) { r.refused += weight })
}

// responseLost records a write that may have taken effect although its response was an error, or
// was lost.
func (c *Controller) responseLost(key workload.Key, ledger string, d reload.Decision) {
	if d.Action != reload.Reload && len(d.OthersRollout) == 0 {
		return // there is nothing to report
	}
	c.with(key, func(r *record) { r.sent = &sent{ledger, d, c.clock.Now()} })
}

// reportLate reports a write whose response was lost, once its ledger is seen on the workload.
func (c *Controller) reportLate(w *workload.Workload) {
	var s *sent
	c.with(w.Key, func(r *record) {
		if r.sent != nil && r.sent.ledger == w.LedgerText {
			s, r.sent = r.sent, nil
		}
	})
	if s == nil {
		return
	}
	if s.decision.Action == reload.Reload {
		c.trackReload(w, s.decision)
		c.reloaded(w, s.decision, 0)
	}
	c.reportOthersRollout(w, s.decision)
}

// forgetAdoption drops the turn of a workload that has its ledger, and the record of a lost
// response.
func (c *Controller) forgetAdoption(key workload.Key) {
	c.with(key, func(r *record) { r.adoptAt, r.sent, r.refused = time.Time{}, nil, 0 })
}
