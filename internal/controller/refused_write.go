package controller

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/reroll-dev/reroll/internal/workload"
)

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
	if isConflict(err) || apierrors.IsTooManyRequests(err) {
		return
	}
	weight := errorWeight
	if isRefusal(err) {
		weight = rejectionWeight
	}
	c.with(key, func(r *record) { r.refused += weight })
}
